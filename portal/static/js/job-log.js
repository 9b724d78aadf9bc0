// How does a page show a log of any length? It holds a few pieces at a time: further ones come as the reader scrolls, those
// far away go, and what a running job says comes over a stream, or by asking where there is none. Works without: plain links.
(() => {
  "use strict";

  const KEEP = 6; // pieces of at most 300 events that the page holds
  const PIECE = 300;
  const ASK_EVERY = 2000;
  const AT_END = 40; // px from the end within which what is new takes the reader along

  const log = document.querySelector("[data-log]");
  if (!log) return;
  const query = log.dataset.query;
  const below = log.querySelector("[data-below]");
  const above = log.querySelector("[data-above]") ?? log.insertBefore(document.createElement("p"), log.firstChild);
  const pieces = () => log.querySelectorAll(":scope > .log-piece");
  const first = () => pieces()[0];
  const last = () => pieces()[pieces().length - 1];
  let busy = false;
  let stream = null;
  let asking = 0;
  let broken = 0;

  function say(text) { below.textContent = text; }

  function parse(html) {
    return new DOMParser().parseFromString(html, "text/html").querySelector(".log-piece");
  }

  async function fetchPiece(where) {
    const answer = await fetch(`${log.dataset.log}?${query}&${where}`, { headers: { "HX-Request": "true" } });
    if (!answer.ok) throw new Error(String(answer.status));
    return parse(await answer.text());
  }

  // pieces far from the reader go; what is above the reader must not move ---------------------------------------
  function keepPlace(change) {
    const mark = [...pieces()].find((piece) => piece.getBoundingClientRect().bottom > log.getBoundingClientRect().top);
    const before = mark?.getBoundingClientRect().top;
    change();
    if (mark?.isConnected) log.scrollTop += mark.getBoundingClientRect().top - before;
  }
  function trimTop() { while (pieces().length > KEEP) first().remove(); mark(); }
  function trimBottom() {
    if (pieces().length <= KEEP) return;
    stopFollowing();
    while (pieces().length > KEEP) last().remove();
    last().dataset.more = "";
    delete last().dataset.ended;
    mark();
  }

  function mark() {
    const end = last();
    above.hidden = first().dataset.after === "0";
    if ("more" in end.dataset) say("More of the log …");
    else if ("ended" in end.dataset) say(end.dataset.last === "0" ? "Nothing was said." : "The end of the log.");
    else say("Waiting for more …");
  }

  async function further() {
    if (busy || !("more" in last().dataset)) return;
    busy = true;
    try {
      const piece = await fetchPiece(`after=${last().dataset.last}`);
      delete last().dataset.more;
      keepPlace(() => { below.before(piece); trimTop(); });
      if (!("more" in piece.dataset)) follow();
    } catch (problem) { say(`The rest could not be fetched (${problem.message}); scroll to try again.`); }
    busy = false;
  }

  async function earlier() {
    if (busy || first().dataset.after === "0") return;
    busy = true;
    try {
      const piece = await fetchPiece(`before=${Number(first().dataset.after) + 1}`);
      delete piece.dataset.ended;
      delete piece.dataset.more;
      keepPlace(() => { first().before(piece); trimBottom(); mark(); });
    } catch (problem) { above.textContent = `Earlier lines could not be fetched (${problem.message}).`; }
    busy = false;
  }

  // what is new goes on where the log ends, and takes along who reads there; nobody else is moved -----------------
  function isAtEnd() { return log.scrollHeight - log.scrollTop - log.clientHeight < AT_END; }
  function toEnd() { log.scrollTop = log.scrollHeight; }
  function add(piece) {
    const along = isAtEnd();
    keepPlace(() => append(piece));
    if (along) toEnd();
  }
  function append(piece) {
    const end = last();
    if (end.querySelectorAll(".log-line").length >= PIECE) {
      const readsFirst = first().getBoundingClientRect().bottom > log.getBoundingClientRect().top;
      below.before(piece);
      if (readsFirst) trimBottom(); else trimTop();
      return;
    }
    for (const task of [...piece.children]) {
      const open = end.lastElementChild;
      if ("continued" in task.dataset && open?.dataset.head === task.dataset.head) {
        open.append(...task.querySelectorAll(".log-line"));
        if (task.querySelector(".is-failed")) open.open = true;
      } else {
        end.append(task);
      }
    }
    end.dataset.last = piece.dataset.last;
    for (const name of ["more", "ended"]) if (name in piece.dataset) end.dataset[name] = ""; else delete end.dataset[name];
    mark();
  }

  function follow() {
    if (stream || asking || "ended" in last().dataset || "more" in last().dataset) return;
    if (!window.EventSource || broken > 2) { asking = setInterval(ask, ASK_EVERY); return; }
    stream = new EventSource(`${log.dataset.stream}?${query}&after=${last().dataset.last}`);
    stream.addEventListener("lines", (event) => {
      broken = 0;
      const piece = parse(JSON.parse(event.data).html);
      delete piece.dataset.ended; // the stream says itself when it is over
      const from = Number(piece.dataset.after);
      if (from < Number(last().dataset.last)) return; // had it already
      delete piece.dataset.more;
      add(piece);
    });
    stream.addEventListener("end", () => { stopFollowing(); last().dataset.ended = ""; mark(); });
    stream.addEventListener("error", () => {
      if (stream && stream.readyState === EventSource.CLOSED) { stopFollowing(); broken += 1; setTimeout(follow, ASK_EVERY); }
    });
  }
  function stopFollowing() {
    stream?.close();
    stream = null;
    clearInterval(asking);
    asking = 0;
  }
  async function ask() {
    try {
      const piece = await fetchPiece(`after=${last().dataset.last}`);
      if (piece.dataset.last !== last().dataset.last || "ended" in piece.dataset) add(piece);
      if ("ended" in last().dataset) stopFollowing();
    } catch { /* the next time */ }
  }

  const near = new IntersectionObserver((seen) => {
    for (const each of seen) {
      if (!each.isIntersecting) continue;
      if (each.target === below) further(); else earlier();
    }
  }, { root: log, rootMargin: "400px" });
  log.addEventListener("scroll", () => {
    if (log.scrollTop < 400) earlier();
    if (log.scrollHeight - log.scrollTop - log.clientHeight < 400) further();
  }, { passive: true });

  mark();
  near.observe(below);
  near.observe(above);
  follow();
  const wanted = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (wanted && log.contains(wanted)) {
    wanted.closest("details")?.setAttribute("open", "");
    wanted.scrollIntoView({ block: "center" });
  } else if (stream || asking) toEnd();
})();
