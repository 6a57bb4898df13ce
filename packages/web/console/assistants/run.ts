/** Starts a run of an assistant on a new thread, and tells how it goes, node by node. */
import { authFetch, call } from "../../api/http.ts";
import { after, type Course, ended } from "./course.ts";
import type { Lights } from "./graph.ts";
import { readFrames } from "../../api/frames.ts";

/** Runs to the end of the run, or until `signal` leaves the stream. The run itself continues. */
export async function follow(
  assistant: string,
  input: unknown,
  signal: AbortSignal,
  onCourse: (course: Course) => void,
): Promise<void> {
  const { thread_id } = await call<{ thread_id: string }>("POST", "/threads", {}, signal);
  const answer = await authFetch(`/threads/${thread_id}/runs/stream`, {
    method: "POST",
    signal,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ assistant_id: assistant, input, stream_mode: ["tasks"], stream_subgraphs: true }),
  });
  if (!answer.ok || !answer.body) {
    const { detail } = (await answer.json().catch(() => ({}))) as { detail?: string };
    throw new Error(detail ?? `The server answered ${answer.status}.`);
  }
  const start: Lights = new Map([["__start__", { light: "done", open: 0, times: 1 }]]);
  let course: Course = { thread: thread_id, run: undefined, state: "running", lights: start, steps: [] };
  onCourse(course);
  for await (const frame of readFrames(answer.body)) {
    course = after(course, frame, Date.now());
    onCourse(course);
  }
  onCourse(ended(course));
}

export const stop = ({ thread, run }: Course): Promise<void> =>
  call("POST", `/threads/${thread}/runs/${run}/cancel?wait=1&action=interrupt`);
