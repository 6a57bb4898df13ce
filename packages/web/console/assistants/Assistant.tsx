/** One assistant: its graph, its configuration, its versions, and a run whose nodes light up. */
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { chooseAssistant } from "../../chat/header/assistant.ts";
import { Button } from "../../ui/Button.tsx";
import { DeleteButton, ItemPage } from "../../resources/ItemPage.tsx";
import { Loaded } from "../../resources/states.tsx";
import { PauseButton } from "../control/PauseButton.tsx";
import work from "../../resources/work.module.css";
import css from "./assistants.module.css";
import type { Lights } from "./graph.ts";
import { Graph } from "./Graph.tsx";
import {
  type AssistantRow,
  deleteAssistant,
  RESOURCE,
  useAssistant,
  type Schemas,
  updateAssistant,
  useAllSchemas,
} from "./queries.ts";
import { TryRun } from "./TryRun.tsx";
import { Versions } from "./Versions.tsx";
import { toBody, toDraft, listFields } from "./draft.ts";
import { Form } from "./form.tsx";

const TABS = ["Configuration", "Versions", "Try"] as const;
type Tab = (typeof TABS)[number];

const DARK: Lights = new Map();

export function AssistantPage({ id }: { id: string }) {
  const assistant = useAssistant(id);
  const [, navigate] = useLocation();
  return (
    <ItemPage
      resource={RESOURCE}
      whole={css.whole}
      query={assistant}
      title={assistant.data?.name}
      purpose={assistant.data?.description ?? undefined}
      deletion={{
        title: `Delete “${assistant.data?.name ?? ""}”?`,
        text: "All its versions and its crons are deleted with it. Its threads stay. This cannot be undone.",
        remove: () => deleteAssistant(id),
      }}
      actions={
        assistant.data && (
          <>
            <PauseButton target={{ assistant: assistant.data.assistant_id }} what="assistant" />
            <Button
              onClick={() => {
                chooseAssistant(assistant.data.assistant_id);
                navigate("/chat");
              }}
            >
              Chat
            </Button>
          </>
        )
      }
    >
      {(row) => <One assistant={row} />}
    </ItemPage>
  );
}

function One({ assistant }: { assistant: AssistantRow }) {
  const may = useMay();
  const [params, setParams] = useSearchParams();
  const [lights, setLights] = useState(DARK);
  const tab = TABS.find((one) => one.toLowerCase() === params.get("tab")) ?? "Configuration";
  const choose = (next: Tab) =>
    setParams(next === "Configuration" ? {} : { tab: next.toLowerCase() }, { replace: true });
  return (
    <div className={css.split}>
      <Graph assistant={assistant} lights={lights} />
      <div className={css.panel}>
        <dl className={css.facts}>
          <div>
            <dt>Graph</dt>
            <dd>{assistant.graph_id}</dd>
          </div>
          <div>
            <dt>Active version</dt>
            <dd>{assistant.version}</dd>
          </div>
          <div>
            <dt>ID</dt>
            <dd className={work.mono} title={assistant.assistant_id}>
              {assistant.assistant_id.slice(0, 8)}
            </dd>
          </div>
          <div>
            <dt>Runs</dt>
            <dd>
              <Link href={`/console/runs?assistant=${assistant.assistant_id}`}>Show runs</Link>
            </dd>
          </div>
        </dl>
        <div className={css.tabs} role="group" aria-label="Show of the assistant">
          {TABS.map((one) => (
            <button key={one} type="button" aria-pressed={one === tab} onClick={() => choose(one)}>
              {one}
            </button>
          ))}
        </div>
        {tab === "Configuration" && (
          <>
            <Configuration key={assistant.version} assistant={assistant} />
            {/* The next use of its graph makes a default assistant again. */}
            {may("assistants.write") && assistant.metadata?.created_by !== "system" && (
              <div className={css.delete}>
                <p>Delete this assistant with its versions and crons.</p>
                <DeleteButton />
              </div>
            )}
          </>
        )}
        {tab === "Versions" && <Versions assistant={assistant} />}
        {/* A run continues, and its view is kept, while another tab is open. */}
        <div hidden={tab !== "Try"}>
          <TryRun assistant={assistant} onLights={setLights} />
        </div>
      </div>
    </div>
  );
}

/** The configuration of an assistant as a form. Saving makes a new version, which is the active one. */
function Configuration({ assistant }: { assistant: AssistantRow }) {
  const schemas = useAllSchemas(assistant.assistant_id);
  return (
    <Loaded query={schemas} what="fields" rows={6}>
      {(found) => <Fields assistant={assistant} schemas={found} />}
    </Loaded>
  );
}

function Fields({ assistant, schemas }: { assistant: AssistantRow; schemas: Schemas }) {
  const [fields] = useState(() => listFields(schemas, assistant.context ?? {}));
  const [start] = useState(() => toDraft(assistant, fields));
  return (
    <Form
      start={start}
      fields={fields}
      action="Save as a new version"
      changedOnly
      onSave={async (draft) => {
        await updateAssistant(assistant.assistant_id, toBody(draft, fields));
      }}
    />
  );
}
