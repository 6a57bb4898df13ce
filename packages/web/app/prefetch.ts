/** Requests code and data of a view before React draws it. Without React, so that it runs before React is evaluated. */
import type { ComponentType } from "react";
import { callAhead } from "../api/http.ts";
import { assistantsRead, infoRead, meRead } from "../api/requests.ts";
import { type View, viewAt, VIEWS } from "./routes.ts";
import type { ViewProps } from "./view-props.ts";

type IsKnown = (key: readonly unknown[]) => boolean;

/** Sends the first requests of the view at this address, except those of which the answer is known. */
export function requestFirst(path: string, search: string, isKnown: IsKnown): void {
  if (path === "/signed-in") return;
  const view = viewAt(path);
  const id = path.slice((view?.path.length ?? 0) + 1).split("/");
  const own = id.length > 1 ? [] : view?.prefetch?.(id[0] || undefined, new URLSearchParams(search));
  for (const { key, request } of [meRead, assistantsRead, infoRead, ...(own ?? [])])
    if (key === undefined || !isKnown(key)) callAhead(request);
}

/** Sends the first requests of each view to which the page navigates, before React draws it. */
export function requestOnNavigation(isKnown: IsKnown): void {
  let last = location.pathname;
  // The events are wouter's. A replaced address is the same view: a thread that has just begun.
  for (const name of ["pushState", "replaceState", "popstate"])
    addEventListener(name, () => {
      const path = location.pathname;
      if (path !== last && name !== "replaceState") requestFirst(path, location.search, isKnown);
      last = path;
    });
}

const loaded = new Map<View, ComponentType<ViewProps>>();

/** Loads the code of a view. */
export async function loadView(view: View): Promise<{ default: ComponentType<ViewProps> }> {
  const module = await view.load();
  loaded.set(view, module.default);
  return module;
}

/** The view, when its code is there. */
export const loadedView = (view: View): ComponentType<ViewProps> | undefined => loaded.get(view);

/** Loads the code of the view at an address. Resolves also when it does not load: its route reports the failure. */
export async function loadCodeAt(path: string): Promise<void> {
  const view = viewAt(path);
  if (view) await loadView(view).catch(() => undefined);
}

/** Milliseconds after the page has started, and between two looks. */
const WAIT_MS = 2_000;
const AGAIN_MS = 500;

/** Safari has no requestIdleCallback. */
const idle = () =>
  new Promise<unknown>((resolve) =>
    "requestIdleCallback" in window ? requestIdleCallback(resolve) : setTimeout(resolve),
  );

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let loadingIdle = false;

/** Whether code is loading that no view waits for. When it does not load, the page has lost nothing. */
export const isLoadingIdle = () => loadingIdle;

/**
 * Loads the code of the views that are opened often while the page has nothing to do, so that a click does not wait for it.
 * Does nothing where the browser is to save data. Code that does not load is loaded when its view is opened.
 *
 * @param isQuiet no request is on its way
 */
export async function loadWhenIdle(isQuiet: () => boolean): Promise<void> {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData) return;
  await wait(WAIT_MS);
  const often = VIEWS.flatMap((view) => (view.idle ? [() => loadView(view), ...view.idle] : []));
  for (const load of [...often, () => import("./Sheet.tsx")]) {
    await loadCodeAt(location.pathname);
    await idle();
    while (!isQuiet()) await wait(AGAIN_MS);
    loadingIdle = true;
    await load().finally(() => (loadingIdle = false));
  }
}
