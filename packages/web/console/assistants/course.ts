/** The course of a run by the frames of its stream: which node it is at, and how each step ended. */
import { type Lights, type TaskEvent, isEnd, lit, eventNode } from "./graph.ts";

interface Step {
  /** The id of the task. */
  id: string;
  node: string;
  began: number;
  ended?: number;
  state: "running" | "success" | "error" | "interrupted" | "stopped";
}

export interface Course {
  thread: string;
  run: string | undefined;
  state: "running" | "success" | "error" | "interrupted" | "stopped";
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
  const node = eventNode(event, task);
  const known = course.steps.find(({ id }) => id === task.id);
  const begun = { id: task.id, node, began: now, state: "running" } as const;
  const how = task.error ? "error" : (task.interrupts?.length ?? 0) > 0 ? "interrupted" : "success";
  const steps = known
    ? course.steps.map((step) =>
        step.id === task.id && isEnd(task) ? ({ ...step, state: how, ended: now } as const) : step,
      )
    : [...course.steps, begun];
  return { ...course, steps, lights: lit(course.lights, node, task) };
}

/** The course after the stream has ended. The stream does not name a task again that was under way when its run was stopped. */
export function ended(course: Course): Course {
  const state = endState(course);
  const failed = state === "error" ? failedStep(course.steps) : undefined;
  const steps = course.steps.map((step): Step => {
    if (step === failed || (failed && step.state === "running")) return { ...step, state: "error" };
    return step.state === "running" ? { ...step, state: "stopped" } : step;
  });
  const lights = new Map(course.lights);
  for (const { node, state: how } of steps) {
    const lamp = lights.get(node);
    if (how === "error" && lamp) lights.set(node, { ...lamp, light: "failed", open: 0 });
    else if (how === "stopped" && lamp?.light === "running") lights.delete(node);
  }
  if (state === "success") lights.set("__end__", { light: "done", open: 0, times: 1 });
  return { ...course, state, steps, lights };
}

/** LangGraph names a task that fails with an empty result and no error, and the error of the run comes next: the last one failed. */
const failedStep = (steps: Step[]): Step | undefined =>
  steps.toSorted((a, b) => (a.ended ?? Infinity) - (b.ended ?? Infinity)).at(-1);

function endState({ state, steps }: Course): Course["state"] {
  if (state !== "running") return state;
  if (steps.some((step) => step.state === "running")) return "stopped";
  return steps.some((step) => step.state === "interrupted") ? "interrupted" : "success";
}
