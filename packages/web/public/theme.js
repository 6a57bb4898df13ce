// Before the first paint, so that no light page flashes in the dark. Its own file: the page allows no inline script.
try {
  const theme = localStorage.getItem("weir.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is closed to this page: the system's theme it is.
}
