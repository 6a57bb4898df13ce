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
import type { ViewProps } from "./frame.ts";

interface Module {
  default: ComponentType<ViewProps>;
}

export interface View {
  /** In the navigation, the palette and the title of the tab. */
  name: string;
  group: Group;
  /** The view is at this address; `<path>/<id>` is the view with one item open. */
  path: string;
  icon: LucideIcon;
  /** What a person does here, in one line. */
  purpose: string;
  /** Loads the chunk of the view. */
  load: () => Promise<Module>;
  Page: LazyExoticComponent<ComponentType<ViewProps>>;
}

export const GROUPS = ["Chat", "Observe", "Build", "Operate", "Admin"] as const;

type Group = (typeof GROUPS)[number];

function view(fields: Omit<View, "Page">): View {
  return { ...fields, Page: lazy(fields.load) };
}

export const VIEWS: View[] = [
  view({
    name: "Chat",
    group: "Chat",
    path: "/chat",
    icon: MessageSquare,
    purpose: "Talk to an agent",
    load: async () => {
      const { default: Chat } = await import("../chat/Chat.tsx");
      return { default: ({ id }: ViewProps) => <Chat threadId={id} /> };
    },
  }),
  view({
    name: "Overview",
    group: "Observe",
    path: "/",
    icon: Gauge,
    purpose: "What runs, waits, failed, and what it costs",
    load: () => import("../console/overview/Overview.tsx"),
  }),
  view({
    name: "Traces",
    group: "Observe",
    path: "/traces",
    icon: List,
    purpose: "See every step of a run",
    load: () => import("../trace/Traces.tsx"),
  }),
  view({
    name: "Threads",
    group: "Observe",
    path: "/console/threads",
    icon: MessagesSquare,
    purpose: "Find a thread of any user",
    load: () => import("../console/threads/Threads.tsx"),
  }),
  view({
    name: "Experiments",
    group: "Observe",
    path: "/console/experiments",
    icon: FlaskConical,
    purpose: "Compare runs over a dataset",
    load: () => import("../console/experiments/Experiments.tsx"),
  }),
  view({
    name: "Assistants",
    group: "Build",
    path: "/console/assistants",
    icon: Bot,
    purpose: "Configure a graph, compare versions, try it",
    load: () => import("../console/assistants/Assistants.tsx"),
  }),
  view({
    name: "Runs",
    group: "Operate",
    path: "/console/runs",
    icon: Play,
    purpose: "See what runs and waits, and cancel it",
    load: () => import("../console/runs/Runs.tsx"),
  }),
  view({
    name: "Crons",
    group: "Operate",
    path: "/console/crons",
    icon: CalendarClock,
    purpose: "Start runs on a schedule",
    load: () => import("../console/crons/Crons.tsx"),
  }),
  view({
    name: "Store",
    group: "Operate",
    path: "/console/store",
    icon: Database,
    purpose: "Read and change what agents store",
    load: () => import("../console/store/Store.tsx"),
  }),
  view({
    name: "Exports",
    group: "Operate",
    path: "/console/exports",
    icon: HardDriveUpload,
    purpose: "Copy traces to a bucket as Parquet",
    load: () => import("../console/exports/Exports.tsx"),
  }),
  view({
    name: "Keys",
    group: "Admin",
    path: "/console/keys",
    icon: KeyRound,
    purpose: "Create, replace and revoke API keys",
    load: () => import("../console/keys/Keys.tsx"),
  }),
  view({
    name: "OAuth",
    group: "Admin",
    path: "/console/oauth",
    icon: AppWindow,
    purpose: "See which applications have access, and take it back",
    load: () => import("../console/oauth/OAuth.tsx"),
  }),
  view({
    name: "Webhooks",
    group: "Admin",
    path: "/console/webhooks",
    icon: Webhook,
    purpose: "Sign what the server sends when a run has ended",
    load: () => import("../console/webhooks/Webhooks.tsx"),
  }),
  view({
    name: "Audit log",
    group: "Admin",
    path: "/console/audit",
    icon: ScrollText,
    purpose: "Who changed what, and from where",
    load: () => import("../console/audit/Audit.tsx"),
  }),
  view({
    name: "Usage and cost",
    group: "Admin",
    path: "/console/usage",
    icon: ChartColumn,
    purpose: "What the workspace holds, and what models cost",
    load: () => import("../console/usage/Usage.tsx"),
  }),
];

/** The view at an address. */
export function viewAt(path: string): View | undefined {
  return VIEWS.find((one) => path === one.path || (one.path !== "/" && path.startsWith(`${one.path}/`)));
}
