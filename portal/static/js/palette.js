// How does one find anything from anywhere? Ctrl and K open a dialog; the server answers with what this person may see and do.
// Without this script the search has its own page.
(() => {
  "use strict";

  const dialog = document.getElementById("palette");
  if (!dialog?.showModal) return;
  const field = dialog.querySelector("input[type=search]");
  const options = () => [...dialog.querySelectorAll("[data-hit]")];
  let at = 0;

  function mark(index) {
    const found = options();
    at = found.length ? (index + found.length) % found.length : 0;
    found.forEach((option, position) => {
      option.setAttribute("aria-selected", position === at ? "true" : "false");
      if (position === at) option.scrollIntoView({ block: "nearest" });
    });
    if (found[at]) field.setAttribute("aria-activedescendant", found[at].id);
    else field.removeAttribute("aria-activedescendant");
  }
  function open() {
    const about = document.querySelector("[data-ref]")?.dataset.ref ?? document.querySelector("#main [data-ticket]")?.dataset.ticket;
    dialog.querySelector("[name=about]").value = about ?? "";
    dialog.showModal();
    field.select();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-palette]")) { event.preventDefault(); open(); }
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) { event.preventDefault(); mark(at + moves[event.key]); }
    if (event.key === "Enter") {
      const chosen = options()[at];
      if (chosen) { event.preventDefault(); dialog.close(); chosen.click(); }
    }
  });
  dialog.addEventListener("htmx:afterSwap", () => mark(0));
})();
