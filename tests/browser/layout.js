// Does the page still hold together when every word is longer? Makes the words two fifths longer, and says what is cut off or covered.
const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) && e.getClientRects().length > 0;
const name = (e) => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""}${e.className?.trim ? "." + e.className.trim().split(/\s+/).join(".") : ""} “${e.textContent.trim().slice(0, 50)}”`;
const accents = { a: "á", e: "ë", i: "ï", o: "ö", u: "ü", A: "Â", E: "Ê", I: "Î", O: "Ô", U: "Û", n: "ñ", c: "ç", s: "š", y: "ý" };
const longer = (text) => text.replace(/[^\s]+/g, (word) => {
  const spoken = word.replace(/[aeiouAEIOUncsy]/g, (letter) => accents[letter]);
  return spoken + spoken.slice(0, Math.ceil(word.length * 0.4));
});
const skip = "script, style, template, svg, pre, code, .mono, .ref, .log, .visually-hidden, textarea, option, time";
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const nodes = [];
while (walker.nextNode()) if (walker.currentNode.data.trim() && !walker.currentNode.parentElement.closest(skip)) nodes.push(walker.currentNode);
for (const node of nodes) node.data = longer(node.data);

const wrong = [];
if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) wrong.push(`the page can be scrolled sideways: ${document.documentElement.scrollWidth} of ${document.documentElement.clientWidth}`);
const cuts = (style) => ["hidden", "clip"].includes(style.overflowX) || ["hidden", "clip"].includes(style.overflowY);
for (const node of nodes) {
  const e = node.parentElement;
  if (!e || !visible(e) || e.closest(".truncate, [data-may-be-cut]")) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
  for (let at = e; at && at !== document.body; at = at.parentElement) {
    if (!cuts(getComputedStyle(at))) continue;
    const frame = at.getBoundingClientRect();
    if (frame.width <= 2 || frame.height <= 2) break; // for screen readers only
    if (boxes.some((box) => box.right > frame.right + 2 || box.left < frame.left - 2 || box.bottom > frame.bottom + 3)) { wrong.push(`cut off: ${name(e)}`); break; }
  }
  if (boxes.some((box) => box.left < -1)) wrong.push(`off the screen: ${name(e)}`);
}

// what of a text is shown: a frame that cuts on purpose shows no more than itself
const clipped = (box, e) => {
  let { left, right, top, bottom } = box;
  for (let at = e; at && at !== document.body; at = at.parentElement) {
    if (getComputedStyle(at).overflowX === "visible" && getComputedStyle(at).overflowY === "visible") continue;
    const frame = at.getBoundingClientRect();
    [left, right, top, bottom] = [Math.max(left, frame.left), Math.min(right, frame.right), Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
  }
  return { left, right, top, bottom };
};

// two texts of different things on the same spot
const spots = nodes.filter((node) => node.parentElement && visible(node.parentElement)).flatMap((node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()].map((box) => clipped(box, node.parentElement)).filter((box) => box.right - box.left > 3 && box.bottom - box.top > 3)
    .map((box) => ({ box, e: node.parentElement }));
}).filter(({ e }) => !e.closest("dialog, [popover], .toasts, .skip"));
const shown = (e) => { for (let at = e; at; at = at.parentElement) if (["fixed", "sticky"].includes(getComputedStyle(at).position)) return false; return true; };
const flat = spots.filter(({ e }) => shown(e)).sort((one, two) => one.box.top - two.box.top);
for (let i = 0; i < flat.length; i++)
  for (let j = i + 1; j < flat.length && flat[j].box.top < flat[i].box.bottom - 4; j++) {
    const [one, two] = [flat[i], flat[j]];
    if (one.e === two.e || one.e.contains(two.e) || two.e.contains(one.e)) continue;
    const wide = Math.min(one.box.right, two.box.right) - Math.max(one.box.left, two.box.left);
    const high = Math.min(one.box.bottom, two.box.bottom) - Math.max(one.box.top, two.box.top);
    if (wide > 4 && high > 6) wrong.push(`covered: ${name(one.e)} by ${name(two.e)}`);
  }
return [...new Set(wrong)].slice(0, 12);
