/** A run to try the assistant with: its nodes light up in the graph as it goes. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import { Link } from "wouter";
import { call, authFetch } from "../../api/http.ts";
import type { ThreadState } from "../../api/types.ts";
import { durationText } from "../../ui/format.ts";
import { Value } from "../../traces/trace/Value.tsx";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { State } from "../../resources/State.tsx";
import work from "../../resources/work.module.css";
import css from "./assistants.module.css";
import { type Course, after, ended } from "./course.ts";
import type { Lights } from "./graph.ts";
import { type AssistantRow, useAllSchemas } from "./queries.ts";
import { readFrames } from "../../api/frames.ts";
import { Trouble } from "../../resources/Trouble.tsx";

const STATES = {
  running: "Running.",
  success: "The run ended.",
  error: "The run failed.",
  interrupted: "The run waits for a person.",
  stopped: "The run was stopped.",
};

export function TryRun({ assistant, onLights }: { assistant: AssistantRow; onLights: (lights: Lights) => void }) {
  const id = useId();
  const schemas = useAllSchemas(assistant.assistant_id);
  const talks = schemas.data?.input_schema?.properties?.messages !== undefined;
  const [asJson, setAsJson] = useState<boolean>();
  const json = asJson ?? (schemas.data !== undefined && !talks);
  const [text, setText] = useState("");
  const [course, setCourse] = useState<Course>();
  const starting = useAction("threads.write", "runs.create");
  const leave = useRef<AbortController>(undefined);
  useEffect(() => () => leave.current?.abort(), []);
  const isRunning = course?.state === "running";
  const run = async () => {
    leave.current?.abort();
    const controller = (leave.current = new AbortController());
    try {
      const input: unknown = json
        ? JSON.parse(text.trim() === "" ? "{}" : text)
        : { messages: [{ role: "user", content: text }] };
      await follow(assistant.assistant_id, input, controller.signal, (next) => {
        setCourse(next);
        onLights(next.lights);
      });
    } catch (error) {
      if (controller.signal.aborted) return;
      setCourse((now) => now && { ...now, state: "error" });
      throw error instanceof SyntaxError ? new Error(`The input is no JSON: ${error.message}`) : error;
    }
  };
  return (
    <div className={css.try}>
      <form
        className={work.form}
        onSubmit={(event) => {
          event.preventDefault();
          void starting.run(run);
        }}
      >
        <div className={controls.row}>
          <label htmlFor={id} className={controls.label}>
            {json ? "Input as JSON" : "Message"}
          </label>
          <textarea
            id={id}
            className={`${controls.field} ${json ? controls.json : ""}`}
            rows={json ? 6 : 3}
            spellCheck={!json}
            value={text}
            placeholder={json ? "{}" : "What should it do?"}
            aria-describedby={`${id}-note`}
            onChange={(event) => setText(event.target.value)}
          />
          <p id={`${id}-note`} className={controls.help}>
            It runs version {assistant.version} on a new thread, without unsaved changes.
          </p>
        </div>
        <div className={work.acts}>
          <Button
            look="filled"
            type="submit"
            title={starting.refusal}
            disabled={isRunning || starting.refusal !== undefined || (!json && text.trim() === "")}
          >
            Run
          </Button>
          {isRunning && course.run !== undefined && (
            <Button onClick={() => void stop(course).catch(() => undefined)}>Stop</Button>
          )}
          <Button look="quiet" aria-pressed={json} onClick={() => setAsJson(!json)}>
            JSON
          </Button>
        </div>
      </form>
      {starting.refusal !== undefined && <p className={work.note}>{starting.refusal}.</p>}
      <Trouble text={starting.trouble} />
      {course && <Followed course={course} />}
    </div>
  );
}

function Followed({ course }: { course: Course }) {
  const { thread, run, state, steps, error } = course;
  return (
    <section className={css.try} aria-label="The run">
      <p className={css.links}>
        <span role="status">
          <State state={state} word={STATES[state]} />
        </span>
        <Link href={`/chat/${thread}`}>Open thread</Link>
        {run !== undefined && state !== "running" && <Link href={`/traces/${run}`}>Open trace</Link>}
      </p>
      {error !== undefined && <p className={work.trouble}>{error}</p>}
      <ol className={css.steps} aria-label="Steps">
        {steps.map((step) => (
          <li key={step.id}>
            <State state={step.state} word={step.node.replaceAll(":", " › ")} />
            <span>{step.ended === undefined ? "" : durationText((step.ended - step.began) / 1000)}</span>
          </li>
        ))}
      </ol>
      {state !== "running" && <Result thread={thread} />}
    </section>
  );
}

/** The state of the thread after the run. */
function Result({ thread }: { thread: string }) {
  const state = useQuery({
    queryKey: ["tried", thread],
    queryFn: ({ signal }) => call<ThreadState>("GET", `/threads/${thread}/state`, undefined, signal),
    staleTime: Infinity,
  });
  return state.data ? <Value label="State" value={state.data.values} /> : null;
}

// Starts a run of an assistant on a new thread, and tells how it goes, node by node.

/** Runs to the end of the run, or until `signal` leaves the stream. The run itself continues. */
async function follow(
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

const stop = ({ thread, run }: Course): Promise<void> =>
  call("POST", `/threads/${thread}/runs/${run}/cancel?wait=1&action=interrupt`);
