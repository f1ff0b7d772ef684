// Search, and a page that prints whole. Without this the page can be read all the same.
(() => {
  "use strict";
  const box = document.getElementById("search");
  const input = document.getElementById("words");
  const found = document.getElementById("found");
  const opened = new Set();
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const details of opened) details.open = false;
    opened.clear();
    let number = 0;
    // Looked for anew each time: where a run is watched, more comes.
    for (const item of document.querySelectorAll("[data-item]")) {
      const text = words.length === 0 ? "" : item.textContent.toLowerCase();
      const has = words.every((word) => text.includes(word));
      item.classList.toggle("out", !has);
      if (!has || words.length === 0) continue;
      number += 1;
      const inside = Array.from(item.querySelectorAll("details")).filter((details) => words.every((word) => details.textContent.toLowerCase().includes(word)));
      for (const details of [item, ...inside]) {
        if (details.tagName === "DETAILS" && !details.open) {
          details.open = true;
          opened.add(details);
        }
      }
    }
    document.body.classList.toggle("searching", words.length > 0);
    found.textContent = words.length === 0 ? "" : number === 0 ? "nothing found" : number === 1 ? "1 place" : number + " places";
  };
  let waiting = 0;
  document.addEventListener("renewed", () => {
    if (input.value) show();
  });
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 120);
  });
  document.addEventListener("keydown", (event) => {
    const typing = document.activeElement.matches("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && document.activeElement === input) {
      input.value = "";
      show();
    }
  });
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  };
  // `#?words` is a search.
  const go = () => {
    if (location.hash.startsWith("#?")) {
      try {
        input.value = decodeURIComponent(location.hash.slice(2));
      } catch {
        return;
      }
      show();
    } else {
      open();
    }
  };
  window.addEventListener("hashchange", go);
  go();
  window.addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((details) => {
    details.open = true;
    details.dataset.printed = "";
  }));
  window.addEventListener("afterprint", () => document.querySelectorAll("details[data-printed]").forEach((details) => {
    details.open = false;
    delete details.dataset.printed;
  }));
  box.hidden = false;
})();
