/** Earlier decisions on a thread, read from the runs that resumed with them. */
import type { RawMessage } from "../../api/types.ts";

export interface Decided {
  id: string;
  /** The message before it. */
  after: string;
  /** "approved send_email" */
  words: string;
  refused: boolean;
  at: string | undefined;
  /** Set where it was not decided in a chat. */
  elsewhere?: Elsewhere;
}

/** Through what a question was answered, and for whom the link was made. */
interface Elsewhere {
  how: string;
  name?: string;
}

const SURFACES: Record<string, string> = {
  link: "by link",
  webhook: "by the webhook's receiver",
  mcp: "over MCP",
  a2a: "over A2A",
  agui: "over AG-UI",
  cron: "by a cron",
  run: "by another run",
};

const VERBS: Record<string, string> = {
  approve: "approved",
  accept: "approved",
  edit: "edited and approved",
  reject: "rejected",
  ignore: "rejected",
  respond: "answered",
  response: "answered",
};
const MOST = 120;

/** The lines for one answer. `resume`: what the run was started with. */
export function decidedBy(
  run: { run: string; after: string; at?: string; answered?: { via: string; name?: string } },
  resume: unknown,
  messages: RawMessage[],
): Decided[] {
  if (resume === undefined || resume === null) return [];
  const how = SURFACES[run.answered?.via ?? ""];
  const name = run.answered?.name;
  const elsewhere = how && { elsewhere: { how, ...(name !== undefined && { name }) } };
  const calls = messages.find(({ id }) => id === run.after)?.tool_calls ?? [];
  return resumeValuesIn(resume).map((value, i, all) => ({
    id: `${run.run}-${i}`,
    after: run.after,
    at: run.at,
    ...elsewhere,
    // A question may be about some of the calls only. Then their order does not say which.
    ...describeDecision(value, all.length === calls.length ? calls[i]?.name : undefined),
  }));
}

/** "You approved send_email", or "Ana approved send_email, by link". */
export function decidedText({ words, elsewhere }: Decided): string {
  if (!elsewhere) return `You ${words}`;
  const { how, name } = elsewhere;
  return `${name === undefined ? `${words.charAt(0).toUpperCase()}${words.slice(1)}` : `${name} ${words}`}, ${how}`;
}

/** The words for one answer to a question about `name`. */
export function describeDecision(value: unknown, name: string | undefined): { words: string; refused: boolean } {
  const record = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const type = typeof record.type === "string" ? record.type : "";
  const verb = VERBS[type];
  if (verb === undefined)
    return { words: typeof value === "string" ? `answered: ${short(value)}` : "answered", refused: false };
  const edited = record.edited_action as { name?: unknown } | undefined;
  const what = typeof edited?.name === "string" && edited.name !== "" ? edited.name : (name ?? "the action");
  const why = verb === "rejected" && typeof record.message === "string" ? `: ${short(record.message)}` : "";
  return { words: `${verb} ${what}${why}`, refused: verb === "rejected" };
}

const short = (text: string) => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);

/** One answer, the decisions of human-in-the-loop middleware, or several answers by the id of their interrupt. */
function resumeValuesIn(resume: unknown): unknown[] {
  if (typeof resume !== "object" || resume === null) return [resume];
  if (Array.isArray(resume)) return resume as unknown[];
  const record = resume as Record<string, unknown>;
  if (Array.isArray(record.decisions)) return record.decisions as unknown[];
  const keys = Object.keys(record);
  const byId = keys.length > 0 && keys.every((key) => /^[0-9a-f]{32}$/.test(key));
  return byId ? Object.values(record).flatMap(resumeValuesIn) : [resume];
}
