/** Control of the workspace's runs: who waits, rules, pauses, budgets, crashed runs, and threads that a deploy left behind. */
import { useMay } from "../../api/me.ts";
import { Page } from "../../resources/Page.tsx";
import { Budgets } from "./Budgets.tsx";
import css from "./control.module.css";
import { DeployCheck } from "./DeployCheck.tsx";
import { Died } from "./Died.tsx";
import { PauseButton } from "./PauseButton.tsx";
import { Pauses } from "./Pauses.tsx";
import { Rules } from "./Rules.tsx";
import { Waiting } from "./Waiting.tsx";

export default function Control() {
  const may = useMay();
  return (
    <Page
      title="Control"
      purpose="Limit, pause and resume runs, and set budgets."
      actions={<PauseButton target={{}} what="workspace" />}
      aside={
        <>
          <h2>Rules and budgets</h2>
          <p>
            Those of langgraph.json are changed there and with a deploy. Those of the workspace have an API:{" "}
            <a href="/docs/flow-control">flow control</a>, <a href="/docs/budgets">budgets</a>.
          </p>
          <h2>Deploys</h2>
          <p>
            <code>weir deploy --check</code> compares waiting threads with a new version before it is deployed. See{" "}
            <a href="/docs/deploys">Deploy while threads wait</a>.
          </p>
        </>
      }
    >
      <div className={css.page}>
        <Waiting />
        <Pauses />
        <Rules />
        <Budgets />
        {may("traces.read") && <Died />}
        {may("threads.read") && <DeployCheck />}
      </div>
    </Page>
  );
}
