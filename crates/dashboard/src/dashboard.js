// Shows what comes: each event of the run has the page read anew, at most twice a second. What is open stays open, what is typed stays typed.
(() => {
  "use strict";
  const now = document.getElementById("now");
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", open);
  open();
  if (!now || now.hasAttribute("data-over")) return;
  const live = document.getElementById("live");
  let waiting = 0;
  let busy = false;
  const opened = (root) => new Set(Array.from(root.querySelectorAll("details")).map((details, at) => [details.id || "at" + at, details.open]).filter(([, is]) => is).map(([id]) => id));
  const renew = async () => {
    if (busy) return later();
    busy = true;
    try {
      const answer = await fetch(location.pathname, { credentials: "same-origin" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("now");
      const before = opened(now);
      Array.from(next.querySelectorAll("details")).forEach((details, at) => {
        if (before.has(details.id || "at" + at)) details.open = true;
      });
      now.replaceChildren(...next.childNodes);
      const asks = document.getElementById("asks");
      const news = page.getElementById("asks");
      const questions = (root) => root.querySelector("[data-asks]")?.dataset.asks;
      const over = next.hasAttribute("data-over");
      if (over || questions(asks) !== questions(news)) asks.replaceChildren(...news.childNodes);
      if (over) {
        source.close();
        live.textContent = "it has ended";
      }
    } finally {
      busy = false;
    }
  };
  const later = () => {
    if (waiting) return;
    waiting = setTimeout(() => {
      waiting = 0;
      renew();
    }, 500);
  };
  const source = new EventSource("/api/v1/runs/" + encodeURIComponent(now.dataset.run) + "/events?after=" + encodeURIComponent(now.dataset.seq));
  source.onopen = () => (live.textContent = "live");
  source.onerror = () => (live.textContent = "not connected; trying again");
  source.onmessage = later;
})();
