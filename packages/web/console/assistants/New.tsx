import { useLocation, useSearchParams } from "wouter";
import controls from "../../ui/controls.module.css";
import { Back, Page } from "../../resources/Page.tsx";
import { Loaded } from "../../resources/states.tsx";
import work from "../../resources/work.module.css";
import { toBody, toDraft, listFields } from "./draft.ts";
import { Form } from "./form.tsx";
import { createAssistant, type Schemas, useAllSchemas, useGraphIds } from "./queries.ts";

/** `?graph=<id>` chooses the graph. */
export function New() {
  const [params, setParams] = useSearchParams();
  const graphs = useGraphIds();
  const graph = params.get("graph") ?? graphs.data?.[0];
  return (
    <Page
      title="New assistant"
      purpose="A graph with a configuration of its own."
      back={<Back href="/console/assistants" name="Assistants" />}
    >
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
    </Page>
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
        navigate(`/console/assistants/${assistant_id}`);
      }}
      onCancel={() => navigate("/console/assistants")}
    />
  );
}
