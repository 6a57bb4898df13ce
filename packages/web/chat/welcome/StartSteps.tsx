/** What a person does first on a server where nothing has run: talk, see the trace, connect a program. */
import type { ReactNode } from "react";
import { useProjects } from "../../api/projects.ts";
import { writeTracing } from "../../api/tracing.ts";
import { Command } from "../../resources/states.tsx";
import { FillKey, useNewKey } from "./FillKey.tsx";
import css from "./StartSteps.module.css";

/** Whether nothing has run in the workspace. False while that is not known. */
export function useIsEmpty(): boolean {
  const projects = useProjects();
  return projects.data?.length === 0;
}

export function StartSteps({ talk, connect }: { talk: ReactNode; connect?: ReactNode }) {
  return (
    <ol className={css.steps} aria-label="First steps">
      <Step name="Talk to an agent">{talk}</Step>
      <Step name="See its trace">
        <p>Every run is traced: each step with its input, output, time and tokens. The trace is under the answer.</p>
      </Step>
      <Step name="Connect your program">{connect ?? <ConnectTracing />}</Step>
    </ol>
  );
}

function Step({ name, children }: { name: string; children: ReactNode }) {
  return (
    <li className={css.step}>
      <h3>{name}</h3>
      {children}
    </li>
  );
}

/** The variables with which a program that uses a LangSmith SDK sends its traces, with a new key in them. */
export function ConnectTracing() {
  const fill = useNewKey();
  return (
    <>
      <p>A program that uses a LangSmith SDK sends its traces with these variables:</p>
      <Command text={writeTracing(fill.key)} />
      <FillKey fill={fill} />
    </>
  );
}
