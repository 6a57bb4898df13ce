/** The views of the page. The routes, the navigation and the palette are made from this list. */
import {
  AppWindow,
  BellRing,
  Bot,
  CalendarClock,
  ChartColumn,
  Database,
  FlaskConical,
  FlaskRound,
  Gauge,
  HardDriveUpload,
  KeyRound,
  List,
  ListChecks,
  type LucideIcon,
  MessageSquare,
  MessagesSquare,
  Play,
  ScrollText,
  SlidersHorizontal,
  Table2,
  TextQuote,
  Users,
  Webhook,
  Workflow,
} from "lucide-react";
import { type ComponentType, lazy, type LazyExoticComponent } from "react";
import { loadView, type ViewPath, viewPathAt } from "./code.ts";
import { useMay } from "../api/me.ts";
import type { Permission } from "../../../src/http/principal.ts";
import type { ViewProps } from "./view-props.ts";

export interface View {
  /** In the navigation, the palette and the title of the tab. */
  name: string;
  group: Group;
  /** The view is at this address; `<path>/<id>` is the view with one item open. */
  path: ViewPath;
  /** Who lacks it does not see the view in the navigation. */
  needs: Permission;
  /** It shows a time range, or links to what does: the range is the same in all of these views. */
  ranged?: boolean;
  icon: LucideIcon;
  /** What a person does here, in one line. */
  purpose: string;
  Page: LazyExoticComponent<ComponentType<ViewProps>>;
}

export const GROUPS = ["Chat", "Observe", "Build", "Operate", "Admin"] as const;

type Group = (typeof GROUPS)[number];

function view(fields: Omit<View, "Page">): View {
  return { ...fields, Page: lazy<ComponentType<ViewProps>>(() => loadView(fields.path)) };
}

export const VIEWS: View[] = [
  view({
    name: "Chat",
    group: "Chat",
    path: "/chat",
    needs: "threads.read",
    icon: MessageSquare,
    purpose: "Talk to an agent",
  }),
  view({
    name: "Overview",
    group: "Observe",
    path: "/",
    ranged: true,
    needs: "traces.read",
    icon: Gauge,
    purpose: "What runs, waits, failed, and what it costs",
  }),
  view({
    name: "Traces",
    group: "Observe",
    path: "/traces",
    ranged: true,
    needs: "traces.read",
    icon: List,
    purpose: "See every step of a run",
  }),
  view({
    name: "Threads",
    group: "Observe",
    path: "/console/threads",
    ranged: true,
    needs: "threads.read",
    icon: MessagesSquare,
    purpose: "Find a thread of any user",
  }),
  view({
    name: "Datasets",
    group: "Observe",
    path: "/console/datasets",
    needs: "datasets.read",
    icon: Table2,
    purpose: "Keep cases that the agent must get right",
  }),
  view({
    name: "Experiments",
    group: "Observe",
    path: "/console/experiments",
    needs: "datasets.read",
    icon: FlaskConical,
    purpose: "Compare runs over a dataset",
  }),
  view({
    name: "Annotation queues",
    group: "Observe",
    path: "/console/queues",
    needs: "queues.read",
    icon: ListChecks,
    purpose: "Review runs by a rubric",
  }),
  view({
    name: "Rules",
    group: "Observe",
    path: "/console/rules",
    needs: "traces.read",
    icon: Workflow,
    purpose: "Score, review and keep runs as they come",
  }),
  view({
    name: "Alerts",
    group: "Observe",
    path: "/console/alerts",
    needs: "traces.read",
    icon: BellRing,
    purpose: "Get a notification when a figure of runs passes a threshold",
  }),
  view({
    name: "Assistants",
    group: "Build",
    path: "/console/assistants",
    needs: "assistants.read",
    icon: Bot,
    purpose: "Configure a graph, compare versions, try it",
  }),
  view({
    name: "Prompts",
    group: "Build",
    path: "/console/prompts",
    needs: "prompts.read",
    icon: TextQuote,
    purpose: "Compare commits of prompts, and move tags",
  }),
  view({
    name: "Playground",
    group: "Build",
    path: "/console/playground",
    needs: "prompts.read",
    icon: FlaskRound,
    purpose: "Try messages with models and assistants, side by side",
  }),
  view({
    name: "Runs",
    group: "Operate",
    path: "/console/runs",
    ranged: true,
    needs: "threads.read",
    icon: Play,
    purpose: "See what runs, waits and just failed, and cancel it",
  }),
  view({
    name: "Control",
    group: "Operate",
    path: "/console/control",
    needs: "flow.read",
    icon: SlidersHorizontal,
    purpose: "Limit, pause and resume runs, and set budgets",
  }),
  view({
    name: "Crons",
    group: "Operate",
    path: "/console/crons",
    needs: "crons.read",
    icon: CalendarClock,
    purpose: "Start runs on a schedule",
  }),
  view({
    name: "Store",
    group: "Operate",
    path: "/console/store",
    needs: "store.read",
    icon: Database,
    purpose: "Read and change what agents store",
  }),
  view({
    name: "Exports",
    group: "Operate",
    path: "/console/exports",
    needs: "exports.manage",
    icon: HardDriveUpload,
    purpose: "Copy traces to a bucket as Parquet",
  }),
  view({
    name: "Keys",
    group: "Admin",
    path: "/console/keys",
    needs: "keys.manage",
    icon: KeyRound,
    purpose: "Create, replace and revoke API keys",
  }),
  view({
    name: "Members",
    group: "Admin",
    path: "/console/members",
    needs: "members.manage",
    icon: Users,
    purpose: "Invite people, change their roles, sign them out",
  }),
  view({
    name: "OAuth",
    group: "Admin",
    path: "/console/oauth",
    needs: "keys.manage",
    icon: AppWindow,
    purpose: "See which applications have access, and take it back",
  }),
  view({
    name: "Webhooks",
    group: "Admin",
    path: "/console/webhooks",
    needs: "webhooks.manage",
    icon: Webhook,
    purpose: "Sign what the server sends when a run has ended",
  }),
  view({
    name: "Audit log",
    group: "Admin",
    path: "/console/audit",
    ranged: true,
    needs: "audit.read",
    icon: ScrollText,
    purpose: "Who changed what, and from where",
  }),
  view({
    name: "Usage and cost",
    group: "Admin",
    path: "/console/usage",
    ranged: true,
    needs: "usage.read",
    icon: ChartColumn,
    purpose: "What the workspace holds, and what models cost",
  }),
];

/** The views that the caller may use. */
export function useViews(): View[] {
  const may = useMay();
  return VIEWS.filter(({ needs }) => may(needs));
}

/** The view at an address. */
export function viewAt(path: string): View | undefined {
  const view = viewPathAt(path);
  return VIEWS.find((one) => one.path === view);
}
