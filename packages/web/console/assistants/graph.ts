/** The graph of an assistant as it is drawn, and which of its nodes a run is at. */

/** The response of `/assistants/{id}/graph`, as far as the page reads it. */
export interface GraphJson {
  nodes: { id: string }[];
  edges: { source: string; target: string; conditional?: boolean; data?: string }[];
}

interface Box {
  /** Names joined with colons, from the graph around: `research:plan`. */
  id: string;
  label: string;
  kind: "start" | "end" | "node";
  /** The subgraph that it is in. */
  within: string | undefined;
}

export interface Drawn {
  boxes: Box[];
  /** Subgraphs by id, those around others first. */
  groups: { id: string; label: string; within: string | undefined }[];
  edges: { from: string; to: string; conditional: boolean; label: string | undefined }[];
}

const KINDS: Record<string, { kind: Box["kind"]; label: string }> = {
  __start__: { kind: "start", label: "Start" },
  __end__: { kind: "end", label: "End" },
};

/** The subgraph in which a node is: `research` for `research:plan`. */
const around = (id: string): string | undefined => (id.includes(":") ? id.slice(0, id.lastIndexOf(":")) : undefined);

const shortName = (id: string): string => id.slice(id.lastIndexOf(":") + 1);

export function layOutGraph({ nodes, edges }: GraphJson): Drawn {
  const boxes = nodes.map(({ id }): Box => {
    const name = shortName(id);
    return { id, within: around(id), ...(KINDS[name] ?? { kind: "node" as const, label: name }) };
  });
  const groups = new Set<string>();
  for (const { id } of boxes) for (let one = around(id); one !== undefined; one = around(one)) groups.add(one);
  return {
    boxes,
    groups: [...groups]
      .toSorted((a, b) => a.split(":").length - b.split(":").length)
      .map((id) => ({ id, label: shortName(id), within: around(id) })),
    edges: edges.map(({ source, target, conditional = false, data }) => ({
      from: source,
      to: target,
      conditional,
      // LangGraph labels a branch with its target, which the arrow says already.
      label: data === undefined || data === target || data === shortName(target) ? undefined : data,
    })),
  };
}

/** The graph in words, for a screen reader: a line for each node. */
export function describeGraph({ boxes, edges }: Drawn): string[] {
  const labels = new Map(boxes.map(({ id, label }) => [id, label]));
  return boxes.flatMap(({ id, label }) => {
    const targets = edges.filter(({ from }) => from === id);
    if (targets.length === 0) return [];
    const names = targets.map(({ to }) => labels.get(to) ?? to);
    const isBranch = targets.some(({ conditional }) => conditional);
    return [`${label} leads to ${names.join(isBranch ? " or " : " and ")}.`];
  });
}

type Light = "running" | "done" | "waiting" | "failed";

/** How far a run is, by the id of the node. */
export type Lights = ReadonlyMap<string, { light: Light; open: number; times: number }>;

/** An event of the stream mode `tasks`: a task of a node begins, or has ended with a result, interrupts or an error. */
export interface TaskEvent {
  name: string;
  result?: unknown;
  error?: unknown;
  interrupts?: readonly unknown[];
}

/** Whether the task has ended: with a result, which may come with interrupts, or with an error. */
export const isEnd = (task: TaskEvent): boolean => "result" in task || "error" in task;

/** The node of a task. `event` is the name of the frame: `tasks`, or `tasks|research:<id>` in a subgraph. */
export function eventNode(event: string, { name }: TaskEvent): string {
  const [, ...namespace] = event.split("|");
  return [...namespace.map((part) => part.slice(0, part.indexOf(":"))), name].join(":");
}

/** The lights after a task event. */
export function lit(lights: Lights, node: string, task: TaskEvent): Lights {
  const before = lights.get(node) ?? { light: "running", open: 0, times: 0 };
  const next = new Map(lights);
  if (!isEnd(task)) return next.set(node, { light: "running", open: before.open + 1, times: before.times + 1 });
  const open = Math.max(0, before.open - 1);
  const how: Light = task.error ? "failed" : (task.interrupts?.length ?? 0) > 0 ? "waiting" : "done";
  // A failure stays in view while others of the same node run.
  const light = how !== "done" ? how : before.light === "failed" ? "failed" : open > 0 ? "running" : "done";
  return next.set(node, { ...before, light, open });
}
