/** The views of the page. The routes, the navigation and the palette are made from this list. */
import {
  AppWindow,
  Bot,
  CalendarClock,
  ChartColumn,
  Database,
  FlaskConical,
  Gauge,
  HardDriveUpload,
  KeyRound,
  List,
  type LucideIcon,
  MessageSquare,
  MessagesSquare,
  Play,
  ScrollText,
  Webhook,
} from "lucide-react";
import { type ComponentType, lazy, type LazyExoticComponent } from "react";
import { CODE, type ViewPath, viewPathAt } from "./code.ts";
import type { ViewProps } from "../page/frame.ts";

export interface View {
  /** In the navigation, the palette and the title of the tab. */
  name: string;
  group: Group;
  /** The view is at this address; `<path>/<id>` is the view with one item open. */
  path: ViewPath;
  icon: LucideIcon;
  /** What a person does here, in one line. */
  purpose: string;
  Page: LazyExoticComponent<ComponentType<ViewProps>>;
}

export const GROUPS = ["Chat", "Observe", "Build", "Operate", "Admin"] as const;

type Group = (typeof GROUPS)[number];

function view(fields: Omit<View, "Page">): View {
  return { ...fields, Page: lazy<ComponentType<ViewProps>>(CODE[fields.path]) };
}

export const VIEWS: View[] = [
  view({
    name: "Chat",
    group: "Chat",
    path: "/chat",
    icon: MessageSquare,
    purpose: "Talk to an agent",
  }),
  view({
    name: "Overview",
    group: "Observe",
    path: "/",
    icon: Gauge,
    purpose: "What runs, waits, failed, and what it costs",
  }),
  view({
    name: "Traces",
    group: "Observe",
    path: "/traces",
    icon: List,
    purpose: "See every step of a run",
  }),
  view({
    name: "Threads",
    group: "Observe",
    path: "/console/threads",
    icon: MessagesSquare,
    purpose: "Find a thread of any user",
  }),
  view({
    name: "Experiments",
    group: "Observe",
    path: "/console/experiments",
    icon: FlaskConical,
    purpose: "Compare runs over a dataset",
  }),
  view({
    name: "Assistants",
    group: "Build",
    path: "/console/assistants",
    icon: Bot,
    purpose: "Configure a graph, compare versions, try it",
  }),
  view({
    name: "Runs",
    group: "Operate",
    path: "/console/runs",
    icon: Play,
    purpose: "See what runs and waits, and cancel it",
  }),
  view({
    name: "Crons",
    group: "Operate",
    path: "/console/crons",
    icon: CalendarClock,
    purpose: "Start runs on a schedule",
  }),
  view({
    name: "Store",
    group: "Operate",
    path: "/console/store",
    icon: Database,
    purpose: "Read and change what agents store",
  }),
  view({
    name: "Exports",
    group: "Operate",
    path: "/console/exports",
    icon: HardDriveUpload,
    purpose: "Copy traces to a bucket as Parquet",
  }),
  view({
    name: "Keys",
    group: "Admin",
    path: "/console/keys",
    icon: KeyRound,
    purpose: "Create, replace and revoke API keys",
  }),
  view({
    name: "OAuth",
    group: "Admin",
    path: "/console/oauth",
    icon: AppWindow,
    purpose: "See which applications have access, and take it back",
  }),
  view({
    name: "Webhooks",
    group: "Admin",
    path: "/console/webhooks",
    icon: Webhook,
    purpose: "Sign what the server sends when a run has ended",
  }),
  view({
    name: "Audit log",
    group: "Admin",
    path: "/console/audit",
    icon: ScrollText,
    purpose: "Who changed what, and from where",
  }),
  view({
    name: "Usage and cost",
    group: "Admin",
    path: "/console/usage",
    icon: ChartColumn,
    purpose: "What the workspace holds, and what models cost",
  }),
];

/** The view at an address. */
export function viewAt(path: string): View | undefined {
  const view = viewPathAt(path);
  return VIEWS.find((one) => one.path === view);
}
