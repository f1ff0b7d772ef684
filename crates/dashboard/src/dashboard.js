// Shows what comes: the server sends the pieces of the page that are no longer so. What is open stays open, what is typed stays typed.
(() => {
  "use strict";
  const now = document.getElementById("now");
  if (!now || now.hasAttribute("data-over")) return;
  const live = document.getElementById("live");
  const parse = (html) => new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
  const keyed = (root, selector, key) => new Map(Array.from(root.querySelectorAll(selector), (element, at) => [key(element) || "at " + at, element]));
  const details = (root) => {
    const all = keyed(root, "details", (element) => element.id);
    if (root.tagName === "DETAILS") all.set("itself", root);
    return all;
  };
  const inputs = (root) => keyed(root, "input[type=text], select", (input) => input.form && input.form.action + " " + input.name + " " + (input.form.elements.question?.value ?? ""));
  // What a person did with an element, done with the one that takes its place.
  const carry = (old, next, lists) => {
    const open = details(old);
    for (const [key, element] of details(next)) if (open.get(key)?.open) element.open = true;
    const typed = inputs(old);
    for (const [key, input] of inputs(next)) {
      const before = typed.get(key);
      if (!before || (input.tagName === "SELECT" && !Array.from(input.options).some((option) => option.value === before.value))) continue;
      input.value = before.value;
      if (before === document.activeElement) queueMicrotask(() => input.focus());
    }
    if (!lists) return;
    for (const list of next.querySelectorAll("#task-list, #moments, .turns")) {
      const before = document.getElementById(list.id);
      if (before) list.replaceChildren(...before.childNodes);
    }
  };
  const show = ({ id, html, list, after }, whole) => {
    const old = document.getElementById(id);
    if (html === null) return old?.remove();
    const next = parse(html);
    if (old) {
      carry(old, next, !whole);
      old.replaceWith(next);
    } else if (list) {
      const before = after && document.getElementById(after);
      if (before) before.after(next);
      else document.getElementById(list)?.prepend(next);
    }
  };
  let source = null;
  let seen = now.dataset.state;
  const close = () => {
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || document.hidden || now.hasAttribute("data-over")) return;
    source = new EventSource(now.dataset.live + "?after=" + encodeURIComponent(seen));
    source.onopen = () => (live.textContent = "live");
    source.onerror = () => (live.textContent = "not connected; trying again");
    source.addEventListener("changes", (event) => {
      seen = event.lastEventId;
      const { whole, over, changes } = JSON.parse(event.data);
      for (const change of changes) show(change, whole);
      document.dispatchEvent(new Event("renewed"));
      if (over) {
        now.setAttribute("data-over", "");
        close();
        live.textContent = "it has ended";
      }
    });
  };
  // A browser gives a server six connections: pages that nobody looks at leave theirs to the others.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
})();
