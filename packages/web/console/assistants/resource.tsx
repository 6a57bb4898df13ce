/** Assistants: the list with a search, a new one for a graph, and one of them. */
import { Search } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { formatCurl } from "../../api/server.ts";
import { defineResource } from "../../resources/defineResource.tsx";
import { NewLink, ShowMore } from "../../resources/ListPage.tsx";
import { NewPage } from "../../resources/NewPage.tsx";
import { Page } from "../../resources/Page.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import controls from "../../ui/controls.module.css";
import { useLater } from "../../ui/later.ts";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { AssistantPage } from "./Assistant.tsx";
import css from "./assistants.module.css";
import { listFields, toBody, toDraft } from "./draft.ts";
import { Form } from "./form.tsx";
import {
  type AssistantRow,
  createAssistant,
  RESOURCE,
  type Schemas,
  useAllSchemas,
  useAssistantList,
  useGraphIds,
} from "./queries.ts";

export default defineResource<AssistantRow>(RESOURCE, {
  list: AssistantList,
  item: AssistantPage,
  create: NewAssistant,
});

const CREATE = formatCurl(
  "/assistants",
  `{
    "graph_id": "agent",
    "name": "Formal agent",
    "context": {"tone": "formal"}
  }`,
);

/** Milliseconds without a change of the words before a request is sent. */
const STILL = 300;

function AssistantList() {
  const may = useMay();
  const [text, setText] = useState("");
  const name = useLater(text.trim(), STILL);
  const assistants = useAssistantList(name);
  const [, navigate] = useLocation();
  return (
    <Page
      title="Assistants"
      purpose="Graphs with their configurations: context, versions and runs."
      actions={may("assistants.write") && <NewLink {...RESOURCE} />}
      tools={
        <div className={`${css.find} ${work.search}`}>
          <Search size={16} aria-hidden />
          <input
            type="search"
            className={controls.field}
            placeholder="Search by name"
            aria-label="Search assistants"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
      }
      aside={
        <>
          <h2>What an assistant is</h2>
          <p>
            A deployed graph with a configuration: its context, such as a prompt or a model. Each deployed graph has one
            from the start. Every change makes a version, and an earlier one can be made the active one again.
          </p>
          <h2>Create one with the API</h2>
          <Command text={CREATE} />
        </>
      }
    >
      <Loaded query={assistants} what="assistants">
        {({ rows }) =>
          rows.length === 0 ? (
            name === "" ? (
              <Empty
                title="No assistants yet."
                text="Each graph that you deploy has an assistant. Add a graph to langgraph.json and deploy, then create variants of it:"
                command={CREATE}
              />
            ) : (
              <Empty title="No assistant has this name." text="Search for a part of its name, or clear the search." />
            )
          ) : (
            <>
              <Table
                label="Assistants"
                columns={COLUMNS}
                rows={rows}
                rowKey={({ assistant_id }) => assistant_id}
                onOpen={({ assistant_id }) => navigate(`${RESOURCE.path}/${assistant_id}`)}
              />
              <ShowMore query={assistants} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: Column<AssistantRow>[] = [
  {
    id: "name",
    name: "Name",
    width: 200,
    kept: true,
    cell: ({ assistant_id, name }) => (
      <Link href={`/console/assistants/${assistant_id}`} title={name}>
        {name}
      </Link>
    ),
  },
  {
    id: "graph",
    name: "Graph",
    width: 150,
    kept: true,
    cell: ({ graph_id }) => <span title={graph_id}>{graph_id}</span>,
  },
  { id: "version", name: "Version", width: 72, end: true, cell: ({ version }) => version },
  { id: "changed", name: "Changed", width: 88, end: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
  {
    id: "description",
    name: "Description",
    width: 200,
    grows: true,
    cell: ({ description }) => <span className={work.faint}>{description}</span>,
  },
];

/** `?graph=<id>` chooses the graph. */
function NewAssistant() {
  const [params, setParams] = useSearchParams();
  const graphs = useGraphIds();
  const graph = params.get("graph") ?? graphs.data?.[0];
  return (
    <NewPage resource={RESOURCE} purpose="A graph with a configuration of its own.">
      <Loaded query={graphs} what="graphs">
        {(ids) => (
          <div className={work.form}>
            <div className={controls.row}>
              <label htmlFor="graph" className={controls.label}>
                Graph
              </label>
              <select
                id="graph"
                className={controls.field}
                value={graph}
                onChange={(event) => setParams({ graph: event.target.value }, { replace: true })}
              >
                {ids.map((id) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            </div>
            {graph !== undefined && <OfGraph key={graph} graph={graph} />}
          </div>
        )}
      </Loaded>
    </NewPage>
  );
}

function OfGraph({ graph }: { graph: string }) {
  const schemas = useAllSchemas(graph);
  return (
    <Loaded query={schemas} what="fields of the graph" rows={6}>
      {(found) => <Fields graph={graph} schemas={found} />}
    </Loaded>
  );
}

function Fields({ graph, schemas }: { graph: string; schemas: Schemas }) {
  const [, navigate] = useLocation();
  const fields = listFields(schemas, {});
  return (
    <Form
      start={toDraft({ name: "", config: {} }, fields)}
      fields={fields}
      action="Create assistant"
      onSave={async (draft) => {
        const { description, ...rest } = toBody(draft, fields);
        const body = { ...rest, graph_id: graph, ...(description !== null && { description }) };
        const { assistant_id } = await createAssistant(body);
        navigate(`${RESOURCE.path}/${assistant_id}`);
      }}
      onCancel={() => navigate(RESOURCE.path)}
    />
  );
}
