/** The course of a run by the frames of its stream: which node it is at, and how each step ended. */
import type { Lights, TaskEvent } from "./graph.ts";
import { lit, nodeOf } from "./graph.ts";

export interface Step {
  /** Of the task. */
  id: string;
  node: string;
  began: number;
  ended?: number;
  state: "running" | "success" | "error" | "interrupted";
}

export interface Course {
  thread: string;
  run: string | undefined;
  state: "running" | "success" | "error" | "interrupted";
  lights: Lights;
  steps: Step[];
  error?: string;
}

interface Task extends TaskEvent {
  id: string;
}

/** The course after a frame of the stream. `now`: milliseconds since the epoch. */
export function after(course: Course, frame: { event: string; data: string }, now: number): Course {
  const { event, data } = frame;
  if (event === "error") {
    const { error, message } = JSON.parse(data) as { error?: string; message?: string };
    return { ...course, state: "error", error: message ?? error ?? "The run failed." };
  }
  if (event === "metadata") return { ...course, run: (JSON.parse(data) as { run_id?: string }).run_id ?? course.run };
  if (event !== "tasks" && !event.startsWith("tasks|")) return course;
  const task = JSON.parse(data) as Task;
  const node = nodeOf(event, task);
  const known = course.steps.find(({ id }) => id === task.id);
  const isEnd = "result" in task || "error" in task || "interrupts" in task;
  const begun = { id: task.id, node, began: now, state: "running" } as const;
  const how = task.error ? "error" : (task.interrupts?.length ?? 0) > 0 ? "interrupted" : "success";
  const steps = known
    ? course.steps.map((step) => (step.id === task.id && isEnd ? ({ ...step, state: how, ended: now } as const) : step))
    : [...course.steps, begun];
  return { ...course, steps, lights: lit(course.lights, node, task) };
}

/** The course after the stream has ended. */
export function ended(course: Course): Course {
  const waits = course.steps.some(({ state }) => state === "interrupted");
  const state = course.state !== "running" ? course.state : waits ? "interrupted" : "success";
  const lights = new Map(course.lights);
  if (state === "success") lights.set("__end__", { light: "done", open: 0, times: 1 });
  return { ...course, state, lights };
}
