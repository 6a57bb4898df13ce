/** The state of the playground: messages, variables and tools that all columns share, and the columns. */
import type { TemplateFormat, TemplateMessage } from "../../../../src/agents/prompts/template.ts";
import { keepInTab } from "../../ui/storage.ts";
import type { Result } from "./result.ts";

export interface Edited extends TemplateMessage {
  /** On the page only. */
  id: string;
}

export const PROVIDERS = { offline: "Offline model", openai: "OpenAI-compatible", "workers-ai": "Workers AI" };
export type Provider = keyof typeof PROVIDERS;

export interface Column {
  id: string;
  /** Undefined: the first one that the deployment has. */
  provider?: Provider | "assistant" | undefined;
  model: string;
  baseUrl: string;
  assistant: string;
  /** As they are typed. Members of a call's settings. */
  settings: Record<string, string>;
  /** Further settings as JSON. */
  more: string;
  result?: Result | undefined;
}

export interface Play {
  messages: Edited[];
  format: TemplateFormat;
  variables: Record<string, string>;
  /** A JSON list. */
  tools: string;
  columns: Column[];
  /** Where the messages are from, and what of the prompt was opened. */
  from?: { kind: "run"; id: string; name: string } | { kind: "prompt"; name: string; hash: string } | undefined;
}

export const MOST_COLUMNS = 4;

export const newId = (): string => crypto.randomUUID();

export const newColumn = (like: Partial<Column> = {}): Column => ({
  model: "",
  baseUrl: "",
  assistant: "",
  settings: {},
  more: "",
  ...like,
  result: undefined,
  id: newId(),
});

export const newPlay = (): Play => ({
  messages: [
    { id: newId(), role: "system", content: "" },
    { id: newId(), role: "human", content: "" },
  ],
  format: "mustache",
  variables: {},
  tools: "",
  columns: [newColumn()],
});

/** Nothing has been written yet. */
export const isFresh = ({ messages, tools }: Play): boolean =>
  tools.trim() === "" && messages.every(({ content }) => content === "" || content.length === 0);

/** Whose it is: another person may sign in on the same tab. */
export const keyFor = ({ id, workspace }: { id: string; workspace: { id: string } }): string =>
  `weir.playground.${workspace.id}.${id}`;

/** The playground as the tab kept it. A run that was under way no longer has a reader. */
export function keptPlay(key: string): Play | undefined {
  try {
    const text = sessionStorage.getItem(key);
    const play = text === null ? undefined : (JSON.parse(text) as Play);
    return play && { ...play, columns: play.columns.map(settled) };
  } catch {
    return undefined;
  }
}

const settled = (column: Column): Column =>
  column.result?.state === "running" ? { ...column, result: { ...column.result, state: "stopped" } } : column;

export const keepPlay = (key: string, play: Play): void => keepInTab(key, JSON.stringify(play));
