/**
 * The views, one line each. Routes, navigation, palette, prefetch and idle loading are made from this table: to add a view takes its
 * folder and one line here. Without React: `start.ts` requests code and data of the first view before React is evaluated.
 */
import type { ComponentType } from "react";
import type { Permission } from "../../../src/http/principal.ts";
import { newestRunsRead, projectsRead, type Read, stateRead, threadRead, threadsRead } from "../api/requests.ts";
import { parseRange } from "../resources/range.ts";
import { listRead, readSort, readWanted, traceRead } from "../traces/requests.ts";
import type { ICONS } from "./icons.ts";
import type { ViewProps } from "./view-props.ts";

export const GROUPS = ["Chat", "Observe", "Build", "Operate", "Admin"] as const;

export interface View {
  /** The view is at this address; `<path>/<id>` is the view with one item open. */
  path: string;
  group: (typeof GROUPS)[number];
  /** In the navigation, the palette and the title of the tab. */
  name: string;
  /** Who lacks it does not see the view in the navigation. */
  permission: Permission;
  /** It shows a time range, or links to a view that does: the range is the same in all of these views. */
  ranged?: boolean;
  icon: keyof typeof ICONS;
  /** The work of a person here, in one line. */
  purpose: string;
  load: () => Promise<{ default: ComponentType<ViewProps> }>;
  /** The first requests of the view, beside those of every view. */
  prefetch?: (id: string | undefined, params: URLSearchParams) => Read[];
  /** The view is opened often: its code is loaded while the page is idle, and then these parts of it. */
  idle?: (() => Promise<unknown>)[];
}

// oxfmt-ignore
export const VIEWS: View[] = [
  { path: "/chat", group: "Chat", name: "Chat", permission: "threads.read", icon: "MessageSquare", purpose: "Talk to an agent", load: () => import("../chat/Chat.tsx"), prefetch: readChat, idle: [() => import("./sidebar/Sidebar.tsx"), () => import("../chat/turn/Markdown.tsx"), () => import("../chat/session/StreamClient.tsx"), () => import("../chat/welcome/Welcome.tsx"), () => import("../chat/turn/Decision.tsx")] },
  { path: "/", group: "Observe", name: "Overview", permission: "traces.read", ranged: true, icon: "Gauge", purpose: "What runs, waits, failed, and what it costs", load: () => import("../console/overview/Overview.tsx"), idle: [] },
  { path: "/traces", group: "Observe", name: "Traces", permission: "traces.read", ranged: true, icon: "List", purpose: "See every step of a run", load: () => import("../traces/Traces.tsx"), prefetch: readTraces, idle: [] },
  { path: "/console/threads", group: "Observe", name: "Threads", permission: "threads.read", ranged: true, icon: "MessagesSquare", purpose: "Find a thread of any user", load: () => import("../console/threads/Threads.tsx") },
  { path: "/console/datasets", group: "Observe", name: "Datasets", permission: "datasets.read", icon: "Table2", purpose: "Keep cases that the agent must get right", load: () => import("../console/datasets/resource.tsx") },
  { path: "/console/experiments", group: "Observe", name: "Experiments", permission: "datasets.read", icon: "FlaskConical", purpose: "Compare runs over a dataset", load: () => import("../console/experiments/resource.tsx") },
  { path: "/console/queues", group: "Observe", name: "Annotation queues", permission: "queues.read", icon: "ListChecks", purpose: "Review runs by a rubric", load: () => import("../console/queues/resource.tsx") },
  { path: "/console/rules", group: "Observe", name: "Rules", permission: "traces.read", icon: "Workflow", purpose: "Score, review and keep runs as they come", load: () => import("../console/rules/resource.tsx") },
  { path: "/console/alerts", group: "Observe", name: "Alerts", permission: "traces.read", icon: "BellRing", purpose: "Get a notification when a figure of runs passes a threshold", load: () => import("../console/alerts/resource.tsx") },
  { path: "/console/assistants", group: "Build", name: "Assistants", permission: "assistants.read", icon: "Bot", purpose: "Configure a graph, compare versions, try it", load: () => import("../console/assistants/resource.tsx") },
  { path: "/console/prompts", group: "Build", name: "Prompts", permission: "prompts.read", icon: "TextQuote", purpose: "Compare commits of prompts, and move tags", load: () => import("../console/prompts/resource.tsx") },
  { path: "/console/playground", group: "Build", name: "Playground", permission: "prompts.read", icon: "FlaskRound", purpose: "Try messages with models and assistants, side by side", load: () => import("../console/playground/Playground.tsx") },
  { path: "/console/runs", group: "Operate", name: "Runs", permission: "threads.read", ranged: true, icon: "Play", purpose: "See what runs, waits and just failed, and cancel it", load: () => import("../console/runs/Runs.tsx") },
  { path: "/console/control", group: "Operate", name: "Control", permission: "flow.read", icon: "SlidersHorizontal", purpose: "Limit, pause and resume runs, and set budgets", load: () => import("../console/control/Control.tsx") },
  { path: "/console/crons", group: "Operate", name: "Crons", permission: "crons.read", icon: "CalendarClock", purpose: "Start runs on a schedule", load: () => import("../console/crons/resource.tsx") },
  { path: "/console/store", group: "Operate", name: "Store", permission: "store.read", icon: "Database", purpose: "Read and change what agents store", load: () => import("../console/store/Store.tsx") },
  { path: "/console/exports", group: "Operate", name: "Exports", permission: "exports.manage", icon: "HardDriveUpload", purpose: "Copy traces to a bucket as Parquet", load: () => import("../console/exports/Exports.tsx") },
  { path: "/console/keys", group: "Admin", name: "Keys", permission: "keys.manage", icon: "KeyRound", purpose: "Create, replace and revoke API keys", load: () => import("../console/keys/Keys.tsx") },
  { path: "/console/members", group: "Admin", name: "Members", permission: "members.manage", icon: "Users", purpose: "Invite people, change their roles, sign them out", load: () => import("../console/members/Members.tsx") },
  { path: "/console/oauth", group: "Admin", name: "OAuth", permission: "keys.manage", icon: "AppWindow", purpose: "See which applications have access, and take it back", load: () => import("../console/oauth/OAuth.tsx") },
  { path: "/console/webhooks", group: "Admin", name: "Webhooks", permission: "webhooks.manage", icon: "Webhook", purpose: "Sign what the server sends when a run has ended", load: () => import("../console/webhooks/Webhooks.tsx") },
  { path: "/console/audit", group: "Admin", name: "Audit log", permission: "audit.read", ranged: true, icon: "ScrollText", purpose: "Who changed what, and from where", load: () => import("../console/audit/Audit.tsx") },
  { path: "/console/usage", group: "Admin", name: "Usage and cost", permission: "usage.read", ranged: true, icon: "ChartColumn", purpose: "What the workspace holds, and what models cost", load: () => import("../console/usage/Usage.tsx") },
];

/** The view at an address. */
export const viewAt = (path: string): View | undefined =>
  VIEWS.find((view) => path === view.path || (view.path !== "/" && path.startsWith(`${view.path}/`)));

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function readChat(thread: string | undefined): Read[] {
  if (thread === undefined) return [threadsRead("", 0), projectsRead];
  if (!UUID.test(thread)) return [];
  // A thread answers one request at a time. The run from which the stream is read is known before the state.
  return [threadRead(thread), newestRunsRead(thread), stateRead(thread), threadsRead("", 0)];
}

function readTraces(trace: string | undefined, params: URLSearchParams): Read[] {
  const project = params.get("project");
  if (trace !== undefined) return UUID.test(trace) ? [traceRead(trace, project, true)] : [];
  if (project === null) return [projectsRead];
  return [projectsRead, listRead(readWanted(params, project), parseRange(params, Date.now()), readSort(params))];
}
