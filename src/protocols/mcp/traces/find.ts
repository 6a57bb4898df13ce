/** `find_traces`: by filter or by words. */
import * as v from "valibot";
import { type ServerApi, type RunFigures, formatFigures, joinLines, oneLine } from "./api.ts";
import { between, describe, Project as ProjectName, Text, findProjectId, defineTool } from "./tool.ts";

interface Found extends RunFigures {
  id: string;
  trace_id: string;
  name: string;
  start_time: string;
  thread_id: string | null;
  inputs_preview: string | null;
  error_preview: string | null;
}

interface Page {
  items: Found[];
  next_cursor: string | null;
}

const SELECTS = `trace_id name status start_time latency_seconds total_tokens total_cost thread_id inputs_preview
  error_preview`.split(/\s+/);
const MAX_WORDS = 8;

const Time = v.pipe(v.string(), v.maxLength(40));

const Input = v.object({
  project: v.optional(ProjectName, "default"),
  failed: v.optional(describe(v.boolean(), "Only traces that failed."), false),
  words: v.optional(
    describe(
      Text,
      "Words in inputs, outputs, error or name. All must occur; if no trace has all, traces with any are given.",
    ),
  ),
  filter: v.optional(describe(v.pipe(v.string(), v.maxLength(10_000)), "A condition on the root run of a trace.")),
  anywhere: v.optional(
    describe(
      v.boolean(),
      "Whether failed and words are about any run of a trace and not only its root. It reads more.",
    ),
    false,
  ),
  since: v.optional(describe(Time, "The earliest start, ISO 8601. One day ago if left out.")),
  until: v.optional(describe(Time, "The latest start, ISO 8601.")),
  limit: v.optional(between(1, 50), 20),
  cursor: v.optional(describe(Text, "Continues the result that gave it.")),
});
type Given = Omit<v.InferOutput<typeof Input>, "project" | "words">;

export const findTraces = defineTool({
  name: "find_traces",
  title: "Find traces",
  description:
    'Finds traces of a project, the newest first: id, start, status, figures, and what it was given or failed with. Use failed: true for failing traces, words for plain words, filter for exact conditions. Filters are calls: and(eq(status, "error"), gt(latency, "5s"), has(tags, "prod"), eq(thread_id, "…"), like(name, "%agent%"), search("text")).',
  cost: "reads the days of the project in the time range; a filter or words that are rare read more rows. No model is called.",
  permissions: ["traces.read"],
  input: Input,
  async run(api, { project, words, ...given }) {
    const projectId = await findProjectId(api, project);
    const searches = words === undefined ? [] : splitWords(words).map((word) => `search(${JSON.stringify(word)})`);
    const all = await query(api, projectId, given, searches);
    if (all.items.length > 0 || searches.length < 2 || given.cursor !== undefined) return show(all);
    const any = await query(api, projectId, given, [`or(${searches.join(", ")})`]);
    return any.items.length > 0 ? `No trace has all of the words. Traces with any of them:\n${show(any)}` : show(any);
  },
});

async function query(api: ServerApi, projectId: string, given: Given, searches: string[]): Promise<Page> {
  const { failed, filter, anywhere, since, until, limit, cursor } = given;
  const conditions = [failed ? 'eq(status, "error")' : "", ...searches].filter(Boolean);
  const own = [filter ?? "", ...(anywhere ? [] : conditions)].filter(Boolean);
  return api.query<Page>("/api/v2/runs/query", {
    project_ids: [projectId],
    is_root: true,
    page_size: limit,
    selects: SELECTS,
    ...(own.length > 0 && { filter: joinFilters(own) }),
    ...(anywhere && conditions.length > 0 && { tree_filter: joinFilters(conditions) }),
    ...(since !== undefined && { min_start_time: since }),
    ...(until !== undefined && { max_start_time: until }),
    ...(cursor !== undefined && { cursor }),
  });
}

const joinFilters = (filters: string[]): string =>
  filters.length > 1 ? `and(${filters.join(", ")})` : (filters[0] ?? "");

/** Words of more than two letters, and phrases in quotes. Where there are none of these, the whole text. */
function splitWords(text: string): string[] {
  const found = [...text.matchAll(/"([^"]+)"|([^\s"]+)/g)].map(([, phrase, word = ""]) => phrase ?? word);
  const long = found.filter((word) => word.length > 2);
  return long.length > 0 ? long.slice(0, MAX_WORDS) : [text.trim()];
}

function show({ items, next_cursor }: Page): string {
  if (items.length === 0) return "No traces match. The time range is the last day if since is left out.";
  const lines = items.map((run) => {
    const said = run.error_preview ? `error: ${run.error_preview}` : `inputs: ${run.inputs_preview ?? ""}`;
    const thread = run.thread_id ? `, thread ${oneLine(run.thread_id, 100)}` : "";
    return `trace ${run.trace_id}  ${run.start_time}  ${oneLine(run.name, 60)}  (${formatFigures(run)}${thread})\n  ${oneLine(said, 200)}`;
  });
  const more = next_cursor ? `\nThere are more: cursor ${next_cursor}` : "";
  return joinLines(lines, "Use a smaller limit.") + more;
}

// `list_projects`: where traces are.

interface Project {
  id: string;
  name: string;
  last_run_start_time: string | null;
}

export const listProjectsTool = defineTool({
  name: "list_projects",
  title: "List projects",
  description: "Lists the projects that hold traces, the newest first. Experiments are listed by list_experiments.",
  cost: "one query of the database.",
  permissions: ["traces.read"],
  input: v.object({
    name_contains: v.optional(describe(Text, "A part of the name.")),
    limit: v.optional(between(1, 100), 50),
  }),
  async run(api, { name_contains, limit }) {
    const projects = await api.get<Project[]>("/api/v1/sessions", { name_contains, limit, reference_free: "true" });
    if (projects.length === 0) return "There are no projects.";
    const lines = projects.map(({ id, name, last_run_start_time: last }) =>
      [JSON.stringify(name), id, last ? `last run ${last}` : ""].filter(Boolean).join("  "),
    );
    return joinLines(lines, "Use name_contains.");
  },
});

// `list_datasets`.

interface Dataset {
  id: string;
  name: string;
  description: string | null;
  example_count?: number;
  session_count?: number;
}

export const listDatasets = defineTool({
  name: "list_datasets",
  title: "List datasets",
  description: "Lists datasets with their numbers of examples and experiments.",
  cost: "one query of the database.",
  permissions: ["datasets.read"],
  input: v.object({
    name_contains: v.optional(describe(Text, "A part of the name.")),
    limit: v.optional(between(1, 100), 50),
  }),
  async run(api, { name_contains, limit }) {
    const datasets = await api.get<Dataset[]>("/api/v1/datasets", { name_contains, limit });
    if (datasets.length === 0) return "There are no datasets.";
    const lines = datasets.map(({ id, name, description, example_count, session_count }) => {
      const counts = `${example_count ?? "?"} examples, ${session_count ?? "?"} experiments`;
      return `${JSON.stringify(name)}  ${id}  (${counts})${description ? `  ${oneLine(description, 120)}` : ""}`;
    });
    return joinLines(lines, "Use name_contains.");
  },
});
