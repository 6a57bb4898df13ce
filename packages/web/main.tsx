import "@fontsource-variable/atkinson-hyperlegible-next/wght.css";
import "@fontsource-variable/atkinson-hyperlegible-mono/wght.css";
import "./style/tokens.css";
import "./style/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isKnown, isQuiet } from "./api/queries.ts";
import { App } from "./app/App.tsx";
import { isLoadingIdle, loadCodeAt, loadWhenIdle, requestOnNavigation } from "./app/prefetch.ts";

/** Milliseconds in which the page is loaded again once at most. */
const RELOAD = 60_000;

/** While the server does not answer, a page that is loaded again is lost. */
const answers = () =>
  fetch("/ok").then(
    ({ ok }) => ok,
    () => false,
  );

// A deploy replaces the files that this tab may still load: reload the page.
addEventListener("vite:preloadError", () => {
  const last = Number(sessionStorage.getItem("weir.reloaded"));
  if (isLoadingIdle() || Date.now() - last < RELOAD) return;
  void answers().then((isThere) => {
    if (!isThere) return;
    sessionStorage.setItem("weir.reloaded", String(Date.now()));
    location.reload();
  });
});

// Before React listens for them: it draws at once.
requestOnNavigation(isKnown);

/** Milliseconds that the frame waits for the code of the view: React keeps an outline as long as that, also when the code is there. */
const PATIENCE = 300;

const root = document.getElementById("root");
if (root)
  void Promise.race([loadCodeAt(location.pathname), new Promise((resolve) => setTimeout(resolve, PATIENCE))]).then(() =>
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    ),
  );

void loadWhenIdle(isQuiet).catch(() => undefined);
