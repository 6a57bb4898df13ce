/** The configuration of an assistant as a form. Saving makes a new version, which is the active one. */
import { useState } from "react";
import { Loaded } from "../../resources/states.tsx";
import { toBody, toDraft, listFields } from "./draft.ts";
import { Form } from "./form.tsx";
import { type AssistantRow, type Schemas, updateAssistant, useAllSchemas } from "./queries.ts";

export function Configuration({ assistant }: { assistant: AssistantRow }) {
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
