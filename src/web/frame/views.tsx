/** The views of the page. The routes, the navigation and the palette are made from this list. */
import {
  Bot,
  CalendarClock,
  Database,
  FlaskConical,
  Gauge,
  List,
  type LucideIcon,
  MessageSquare,
  MessagesSquare,
  Play,
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
    purpose: "Read and change what agents remember",
    load: () => import("../console/store/Store.tsx"),
  }),
];

/** The view at an address. */
export function viewAt(path: string): View | undefined {
  return VIEWS.find((one) => path === one.path || (one.path !== "/" && path.startsWith(`${one.path}/`)));
}
