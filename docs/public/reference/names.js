// Names for what the viewer leaves without one: its buttons that copy, and its editors of one line.

const nameAll = () => {
  for (const button of document.querySelectorAll('button[class*="copy-button"]:not([aria-label])'))
    button.setAttribute("aria-label", "Copy");
  // The editor lists the variables of an environment, and this page has none: it is a field of text.
  for (const editor of document.querySelectorAll('[contenteditable][role="combobox"]')) {
    editor.setAttribute("role", "textbox");
    editor.removeAttribute("aria-autocomplete");
    const label = document.querySelector(`label[for="${CSS.escape(editor.parentElement.id)}"]`);
    editor.setAttribute("aria-label", label?.textContent || "Value");
  }
};

let waits = false;
/** Once a frame, however much of the page was drawn in it. */
const nameLater = () => {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    nameAll();
  });
};

export const nameControls = (root) => new MutationObserver(nameLater).observe(root, { childList: true, subtree: true });
