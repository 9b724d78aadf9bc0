// Which key does what at the desk? Each verb is a button of the page; a key presses it. Nothing acts while somebody types,
// and nothing at all for who switched single keys off. Without this script the same buttons are there.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const off = () => document.body.dataset.keys === "off";
  const say = (text) => { const line = $("#desk-say"); if (line) { line.textContent = ""; line.textContent = text; } };

  // the cursor ---------------------------------------------------------------------------------------------------
  const rows = () => all("[data-row]");
  const pageOf = (row) => row.closest("[data-pages]").dataset.pages.replace("T-0", row.dataset.row);
  const current = () => $("[data-row][aria-current]");
  function choose(row) {
    if (!row) return;
    for (const each of rows()) {
      each.toggleAttribute("aria-current", each === row);
      if (each === row) each.setAttribute("aria-current", "true");
      each.closest(".desk-row").classList.toggle("is-open", each === row);
    }
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
  function step(by) {
    const list = rows();
    const at = list.indexOf(current());
    const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
    if (!next || next === current()) return;
    choose(next);
    next.click();
  }
  document.addEventListener("click", (event) => {
    const row = event.target.closest?.("[data-row]");
    if (row && !event.ctrlKey && !event.metaKey) {
      choose(row);
      $("#desk-work")?.toggleAttribute("data-chosen", true);
    }
    if (event.target.closest?.("[data-fresh]")) drawAnew();
    const text = event.target.closest?.("[data-use]");
    if (text) use(text);
  });
  // what is new comes when it is asked for: the row under the cursor keeps its place on the screen until then
  async function drawAnew() {
    const ref = current()?.dataset.row;
    await htmx.ajax("GET", location.pathname + location.search, { target: "#desk-list", swap: "outerHTML" });
    choose($(`[data-row="${ref}"]`) ?? current());
  }
  function use(button) {
    const field = document.getElementById(button.dataset.use);
    if (!field) return;
    field.value = field.value.trim() ? `${field.value.trim()}\n${button.dataset.text}` : button.dataset.text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  }

  // verbs --------------------------------------------------------------------------------------------------------
  const opened = () => $(".verb[open]");
  function open(verb) {
    if (verb.hasAttribute("data-send")) { $("form", verb).requestSubmit(); return; }
    for (const other of all(".verb[open]")) if (other !== verb) other.open = false;
    verb.open = true;
    focusFirst(verb);
  }
  function focusFirst(verb) {
    ($("[data-first]:checked", verb) ?? $("[data-first]", verb) ?? $("form button", verb) ?? $("summary", verb))?.focus();
  }
  function close() {
    const verb = opened();
    if (!verb) return false;
    verb.open = false;
    current()?.focus();
    return true;
  }
  function digit(verb, key) {
    const radio = $(`[data-digit="${key}"]`, verb);
    if (!radio) return;
    radio.checked = true;
    radio.focus();
    if (verb.hasAttribute("data-digit-sends")) $("form", verb).requestSubmit();
  }
  function verbOf(key) {
    return $(`.verb[data-verb="${key}"], .verb[data-verb-also="${key}"]`);
  }
  function press(key) {
    const holder = $(`[data-key="${CSS.escape(key)}"]`);
    if (!holder || holder.closest("[hidden]")) return false;
    (holder.matches("form") ? $("button", holder) : holder).click();
    return true;
  }

  // keys ---------------------------------------------------------------------------------------------------------
  const MOVES = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  let going = 0;
  const typing = (at) => at.closest?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");

  function onRadio(event) {
    // inside a verb: digits choose, Enter sends, arrows are the radio buttons' own
    const verb = opened();
    if (!verb || !event.target.closest?.(".verb[open]")) return false;
    if (/^[0-9]$/.test(event.key)) { digit(verb, event.key); return true; }
    if (event.key === "Enter" && event.target.matches("input[type=radio]")) { $("form", verb).requestSubmit(); return true; }
    return event.key.startsWith("Arrow") || event.key === "Enter" || event.key === " " || event.key === "Tab" ? null : false;
  }
  function verbKey(key) {
    const verb = verbOf(key);
    if (verb) { open(verb); return true; }
    return press(key);
  }
  function moved(event) {
    if (event.key in MOVES) { step(MOVES[event.key]); return true; }
    if (event.key === "Enter" && (event.target === document.body || event.target.closest?.("[data-row], #main:focus, #pane-title"))) {
      const row = current();
      if (row) { location.assign(pageOf(row)); return true; }
    }
    if (event.key === "m") {
      const box = $("input[name=ref]", current()?.closest(".desk-row"));
      if (box) { box.checked = !box.checked; say(box.checked ? "Marked." : "No longer marked."); return true; }
    }
    return false;
  }
  function went(event) {
    if (event.key === "g") { going = Date.now(); return true; }
    const wanted = Date.now() - going < 1500;
    going = 0;
    const link = wanted ? $(`[data-go="${CSS.escape(event.key)}"]`) : null;
    if (link) link.click();
    return Boolean(link);
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !$("dialog[open]") && close()) { event.preventDefault(); return; }
    const field = typing(event.target);
    if (field && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      field.form?.requestSubmit();
      return;
    }
    if (off() || field || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
    const inside = onRadio(event);
    if (inside === null) return;
    if (inside || went(event) || moved(event) || verbKey(event.key)) event.preventDefault();
  });

  // after an answer: say it, keep the cursor, give half-typed words back ------------------------------------------
  document.addEventListener("desk:said", (event) => say(event.detail.text));
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id === "desk-work" || event.detail.elt?.id === "desk-work") {
      const row = current();
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
      if (!row) $("#main")?.focus();
    }
    const verb = opened(); // its form has just come
    if (verb?.contains(event.detail.elt) && document.activeElement === $("summary, a", verb)) focusFirst(verb);
    giveBack();
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    const asker = event.detail.elt;
    if (asker.matches?.("[data-quiet]") && document.hidden) event.preventDefault();
    if (asker.matches?.("[data-watch]") && (asker.offsetParent === null || document.hidden)) event.preventDefault();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status !== 422 || !event.detail.requestConfig.elt.closest?.("#desk-work")) return;
    event.detail.target = $("#verb-problem") ?? event.detail.target;
    event.detail.swapOverride = "innerHTML";
  });
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 409 && $("#desk-work"))
      htmx.ajax("GET", location.pathname + location.search, { target: "#desk-work", swap: "outerHTML" });
  });

  // half-typed words outlive a swap, a reload and a lost network, in this tab alone
  const place = (field) => `desk ${field.closest("[data-ref]")?.dataset.ref} ${field.id}`;
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("[data-keep]")) sessionStorage.setItem(place(event.target), event.target.value);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) for (const field of all("[data-keep]", event.detail.elt)) sessionStorage.removeItem(place(field));
  });
  function giveBack() {
    for (const field of all("[data-keep]")) field.value ||= sessionStorage.getItem(place(field)) ?? "";
    for (const bar of all("[data-undo]")) {
      const left = new Date(bar.dataset.until) - Date.now();
      setTimeout(() => bar.remove(), Math.max(0, left));
    }
  }
  document.addEventListener("DOMContentLoaded", giveBack);
})();
