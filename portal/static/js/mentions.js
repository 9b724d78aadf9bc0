// Who can be named here? After "@" the portal is asked, and it offers only people who may read what is being written.
(() => {
  "use strict";

  const TYPED = /(?:^|[^\w@./+-])@([\w.+-]{0,60})$/;
  let list = null, owner = null, timer = 0, asked = 0;

  function close() {
    list?.remove();
    owner?.removeAttribute("aria-activedescendant");
    owner?.removeAttribute("aria-controls");
    list = owner = null;
  }
  const chosen = () => list?.querySelector("[aria-selected=true]");

  function mark(option) {
    chosen()?.setAttribute("aria-selected", "false");
    option.setAttribute("aria-selected", "true");
    owner.setAttribute("aria-activedescendant", option.id);
  }

  function take(option) {
    const field = owner, end = field.selectionStart;
    const start = end - TYPED.exec(field.value.slice(0, end))[1].length;
    close();
    field.setRangeText(`${option.dataset.username} `, start, end, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  }

  function show(field, people) {
    close();
    if (!people.length) return;
    owner = field;
    list = document.createElement("ul");
    list.className = "people";
    list.id = `${field.id}-people`;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "People who can be named");
    people.forEach((person, number) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${number}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.username = person.username;
      option.textContent = person.name ? `${person.name} @${person.username}` : `@${person.username}`;
      option.addEventListener("mousedown", (event) => { event.preventDefault(); take(option); });
      list.append(option);
    });
    field.after(list);
    field.setAttribute("aria-controls", list.id);
    mark(list.firstElementChild);
  }

  async function ask(field, typed) {
    const mine = ++asked;
    const address = new URL(field.dataset.people, location.href);
    address.searchParams.set("q", typed);
    try {
      const answer = await fetch(address, { redirect: "error" });
      const found = (await answer.json()).people;
      if (mine === asked && document.activeElement === field) show(field, found);
    } catch { close(); }
  }

  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.matches?.("textarea[data-people]")) return;
    const match = TYPED.exec(field.value.slice(0, field.selectionStart));
    clearTimeout(timer);
    if (!match) { asked += 1; close(); return; }
    timer = setTimeout(() => ask(field, match[1]), 150);
  });
  document.addEventListener("keydown", (event) => {
    if (!list || event.target !== owner) return;
    const now = chosen();
    if (event.key === "ArrowDown") mark(now.nextElementSibling ?? list.firstElementChild);
    else if (event.key === "ArrowUp") mark(now.previousElementSibling ?? list.lastElementChild);
    else if (event.key === "Enter" || event.key === "Tab") take(now);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("focusout", () => setTimeout(() => { if (owner && document.activeElement !== owner) close(); }, 100));
})();
