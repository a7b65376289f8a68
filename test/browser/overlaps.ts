/**
 * Code that runs in a page and gives the texts that stand over each other, each pair as `one | other`. It is a text, because a compiled
 * function would use names that the page does not have.
 *
 * The box of each line of text is cut off where an ancestor cuts it off. What floats above the page on purpose does not count: an open
 * menu, a result that stays in sight, and what only a screen reader reads.
 */
export const OVERLAPS = `(() => {
  const cuts = new Map();
  const boxOf = ({ left, top, right, bottom }) => ({ left, top, right, bottom });
  const WHOLE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const common = (a, b) => ({
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  });
  const cutOf = (element) => {
    if (element === null) return WHOLE;
    if (!cuts.has(element)) {
      const { overflowX, clipPath } = getComputedStyle(element);
      const outer = cutOf(element.parentElement);
      const isCut = element !== document.body && (overflowX !== "visible" || clipPath !== "none");
      cuts.set(element, isCut ? common(outer, boxOf(element.getBoundingClientRect())) : outer);
    }
    return cuts.get(element);
  };
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const element = node.parentElement;
    if (node.data.trim() === "" || element.closest(".menu > div, .notice.done, .unseen, .skip")) continue;
    if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const line of range.getClientRects()) {
      const box = common(boxOf(line), cutOf(element));
      if (box.right - box.left > 2 && box.bottom - box.top > 2) lines.push({ ...box, node });
    }
  }
  lines.sort((a, b) => a.top - b.top);
  const pairs = new Set();
  lines.forEach((one, at) => {
    for (const other of lines.slice(at + 1)) {
      if (other.top > one.bottom) break;
      const both = common(one, other);
      // Boxes are as high as their font, so lines that stand close may share some pixels of blank height.
      if (one.node === other.node || both.right - both.left < 2 || both.bottom - both.top < 5) continue;
      pairs.add([one, other].map(({ node }) => node.data.trim().slice(0, 40)).join(" | "));
    }
  });
  return [...pairs];
})()`;
