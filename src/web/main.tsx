import "@fontsource-variable/atkinson-hyperlegible-next/wght.css";
import "@fontsource-variable/atkinson-hyperlegible-mono/wght.css";
import "./style/tokens.css";
import "./style/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./frame/App.tsx";
import { viewAt } from "./frame/views.tsx";

// The chunk of the view in the address loads beside the first requests. Its route reports a failure.
void viewAt(location.pathname)
  ?.load()
  .catch(() => undefined);

/** Milliseconds in which the page is loaded again once at most. */
const RELOAD = 60_000;

// A deploy replaces the files that this tab may still load: reload the page.
addEventListener("vite:preloadError", () => {
  const last = Number(sessionStorage.getItem("weir.reloaded"));
  if (Date.now() - last < RELOAD) return;
  sessionStorage.setItem("weir.reloaded", String(Date.now()));
  location.reload();
});

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
