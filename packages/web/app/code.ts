/** The code of each view, by the path of the view. Without React, so that it is requested before React is evaluated. */
import type { ComponentType } from "react";
import type { ViewProps } from "./view-props.ts";

type Load = () => Promise<{ default: ComponentType<ViewProps> }>;

const CODE = {
  "/": () => import("../console/overview/Overview.tsx"),
  "/chat": () => import("../chat/Chat.tsx"),
  "/traces": () => import("../traces/Traces.tsx"),
  "/console/threads": () => import("../console/threads/Threads.tsx"),
  "/console/datasets": () => import("../console/datasets/Datasets.tsx"),
  "/console/experiments": () => import("../console/experiments/Experiments.tsx"),
  "/console/queues": () => import("../console/queues/Queues.tsx"),
  "/console/rules": () => import("../console/rules/Rules.tsx"),
  "/console/alerts": () => import("../console/alerts/Alerts.tsx"),
  "/console/assistants": () => import("../console/assistants/Assistants.tsx"),
  "/console/prompts": () => import("../console/prompts/Prompts.tsx"),
  "/console/playground": () => import("../console/playground/Playground.tsx"),
  "/console/runs": () => import("../console/runs/Runs.tsx"),
  "/console/control": () => import("../console/control/Control.tsx"),
  "/console/crons": () => import("../console/crons/Crons.tsx"),
  "/console/store": () => import("../console/store/Store.tsx"),
  "/console/exports": () => import("../console/exports/Exports.tsx"),
  "/console/keys": () => import("../console/keys/Keys.tsx"),
  "/console/members": () => import("../console/members/Members.tsx"),
  "/console/oauth": () => import("../console/oauth/OAuth.tsx"),
  "/console/webhooks": () => import("../console/webhooks/Webhooks.tsx"),
  "/console/audit": () => import("../console/audit/Audit.tsx"),
  "/console/usage": () => import("../console/usage/Usage.tsx"),
} satisfies Record<string, Load>;

export type ViewPath = keyof typeof CODE;

const PATHS = Object.keys(CODE) as ViewPath[];

/** The view that an address belongs to: `<path>/<id>` is the view with one item open. */
export const viewPathAt = (path: string): ViewPath | undefined =>
  PATHS.find((one) => path === one || (one !== "/" && path.startsWith(`${one}/`)));

const loaded = new Map<ViewPath, ComponentType<ViewProps>>();

/** Loads the code of a view. */
export async function loadView(path: ViewPath): Promise<{ default: ComponentType<ViewProps> }> {
  const module = await CODE[path]();
  loaded.set(path, module.default);
  return module;
}

/** The view, when its code is there. */
export const loadedView = (path: ViewPath): ComponentType<ViewProps> | undefined => loaded.get(path);

/** Loads the code of the view at an address. Resolves also when it does not load: its route reports the failure. */
export async function loadCodeAt(path: string): Promise<void> {
  const view = viewPathAt(path);
  if (view !== undefined) await loadView(view).catch(() => undefined);
}
