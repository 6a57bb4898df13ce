/** Keeps a text until the tab is closed. When the storage is full or blocked, the text is lost with the next load. */
export function keepInTab(key: string, text: string): void {
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // The page works without it.
  }
}
