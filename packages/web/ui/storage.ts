/** Texts of the user that this tab keeps: they are not sent. Their names in the storage begin with `PREFIX`. */
const PREFIX = "weir.";
const forgetting = new Set<() => void>();

/** Keeps a text until the tab is closed. When the storage is full or blocked, the text is lost with the next load. */
export function keepInTab(key: string, text: string): void {
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // The page works without it.
  }
}

/** Calls `forget` when the user signs out: what is kept is not of the next one. */
export function onForget(forget: () => void): void {
  forgetting.add(forget);
}

/** Removes what the tab keeps. */
export function forgetTab(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  for (const forget of forgetting) forget();
}
