/** The fields of a judge: the model, the prompt, and what it answers. */
import { X } from "lucide-react";
import { useMay } from "../../api/me.ts";
import { useAssistants } from "../../api/queries.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { ROLES, roleText } from "../../traces/trace/messages.ts";
import { readRole } from "../../../../src/agents/prompts/role.ts";
import { Box, More, Input, Select, TextArea } from "../../resources/Form.tsx";
import parts from "../../resources/parts.module.css";
import { type Scoring, type JudgeDraft, type Line, newLine, WORKERS_MODEL } from "./judge.ts";
import css from "./rules.module.css";
import type { Judge, Model } from "./types.ts";

const CHOICES = ["system", "human", "ai"] as const;
const MOST_LINES = 20;
const SCORINGS: Record<Scoring, string> = {
  score: "A score from 0 to 1",
  "yes-no": "Yes or no",
  schema: "As a JSON Schema says",
};
const PROVIDERS: Record<Model["provider"], string> = {
  "workers-ai": "Workers AI",
  openai: "A server of OpenAI’s API",
  assistant: "An assistant",
};

interface Change {
  judge: JudgeDraft;
  onChange: (change: Partial<JudgeDraft>) => void;
}

export function JudgeFields({ title, judge, onChange, onRemove }: Change & { title: string; onRemove: () => void }) {
  const { lines } = judge;
  const changeLine = (place: string, change: Partial<Line>) =>
    onChange({ lines: lines.map((line) => (line.reactKey === place ? { ...line, ...change } : line)) });
  return (
    <Box title={title} onRemove={onRemove}>
      <ModelFields judge={judge} onChange={onChange} />
      {lines.map(({ reactKey: place, role, text }, at) => (
        <div key={place} className={css.line}>
          <Select
            label={`Role ${at + 1}`}
            value={readRole(role) ?? role}
            onChange={({ target }) => changeLine(place, { role: target.value })}
          >
            {!CHOICES.some((one) => one === readRole(role)) && (
              <option value={readRole(role) ?? role}>{roleText(role)}</option>
            )}
            {CHOICES.map((one) => (
              <option key={one} value={one}>
                {ROLES[one]}
              </option>
            ))}
          </Select>
          <TextArea
            label={`Prompt ${at + 1}`}
            rows={Math.min(10, text.split("\n").length + 1)}
            value={text}
            onChange={({ target }) => changeLine(place, { text: target.value })}
          />
          <IconButton
            label={`Remove prompt ${at + 1}`}
            onClick={() => onChange({ lines: lines.filter((line) => line.reactKey !== place) })}
          >
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
      <div className={css.below}>
        <Button
          look="quiet"
          disabled={lines.length >= MOST_LINES}
          onClick={() => onChange({ lines: [...lines, newLine("human")] })}
        >
          Add to prompt
        </Button>
        <span className={parts.aside}>
          {"{input}, {output}, {error}, {name} and paths such as {output.answer} are parts of the run."}
        </span>
      </div>
      <div className={parts.pair}>
        <Select
          label="Answer"
          value={judge.scoring}
          onChange={({ target }) => onChange({ scoring: target.value as Scoring })}
        >
          {Object.entries(SCORINGS).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Select>
        {judge.scoring !== "schema" && (
          <Input
            label="Key of the feedback"
            maxLength={180}
            value={judge.key}
            onChange={({ target }) => onChange({ key: target.value })}
          />
        )}
      </div>
      {judge.scoring === "schema" && (
        <TextArea
          label="Schema"
          code
          rows={Math.min(14, judge.schema.split("\n").length + 1)}
          help="Of an object. Each member is a key of feedback, and comment explains them."
          value={judge.schema}
          onChange={({ target }) => onChange({ schema: target.value })}
        />
      )}
      <More title="Template" open={judge.variables !== "" || judge.format !== "f-string"}>
        <Select
          label="Format"
          value={judge.format}
          onChange={({ target }) => onChange({ format: target.value as Judge["template_format"] })}
        >
          <option value="f-string">{"f-string: {output}"}</option>
          <option value="mustache">{"mustache: {{output}}"}</option>
        </Select>
        <TextArea
          label="Variables"
          code
          rows={2}
          help="“name: path”, one in a line: another name for a part of the run."
          value={judge.variables}
          onChange={({ target }) => onChange({ variables: target.value })}
        />
      </More>
    </Box>
  );
}

function ModelFields({ judge, onChange }: Change) {
  const may = useMay();
  const { data: assistants = [] } = useAssistants();
  const { provider, assistant } = judge;
  const changeProvider = (next: Model["provider"]) =>
    onChange({
      provider: next,
      // The usual model of one provider does not exist at another.
      ...(next === "openai" && judge.model === WORKERS_MODEL && { model: "" }),
      ...(next === "workers-ai" && judge.model === "" && { model: WORKERS_MODEL }),
      ...(next === "assistant" && assistant === "" && { assistant: assistants[0]?.assistant_id ?? "" }),
    });
  return (
    <>
      <div className={parts.pair}>
        <Select
          label="Judged by"
          value={provider}
          onChange={({ target }) => changeProvider(target.value as Model["provider"])}
        >
          {Object.entries(PROVIDERS).map(([value, words]) => (
            <option key={value} value={value} disabled={value === "assistant" && !may("runs.create")}>
              {words}
            </option>
          ))}
        </Select>
        {provider === "assistant" ? (
          <Select label="Assistant" value={assistant} onChange={({ target }) => onChange({ assistant: target.value })}>
            {!assistants.some(({ assistant_id }) => assistant_id === assistant) && (
              <option value={assistant}>{assistant === "" ? "Choose one" : assistant}</option>
            )}
            {assistants.map(({ assistant_id, name }) => (
              <option key={assistant_id} value={assistant_id}>
                {name}
              </option>
            ))}
          </Select>
        ) : (
          <Input
            label="Model"
            maxLength={200}
            value={judge.model}
            onChange={({ target }) => onChange({ model: target.value })}
          />
        )}
      </div>
      {provider === "openai" && (
        <div className={parts.pair}>
          <Input
            label="Address of the server"
            type="url"
            placeholder="https://api.openai.com/v1"
            help="Empty: that of the deployment."
            value={judge.address}
            onChange={({ target }) => onChange({ address: target.value })}
          />
          <Input
            label="API key"
            type="password"
            autoComplete="new-password"
            help="Stored encrypted, and not shown again."
            value={judge.apiKey}
            onChange={({ target }) => onChange({ apiKey: target.value })}
          />
        </div>
      )}
      {provider !== "assistant" && (
        <Input
          label="Temperature"
          type="number"
          min={0}
          max={2}
          step="any"
          help="Empty: that of the model."
          value={judge.temperature}
          onChange={({ target }) => onChange({ temperature: target.value })}
        />
      )}
    </>
  );
}
