/** The actions of a rule on a run, in their order. */
import { Link } from "wouter";
import { useMay } from "../../api/me.ts";
import { type TargetKind, useTargets } from "../../traces/collect/queries.ts";
import { Button } from "../../ui/Button.tsx";
import { Box, Input, Select, TextArea } from "../../resources/Form.tsx";
import parts from "../../resources/parts.module.css";
import { type Draft, type HookDraft, newHook } from "./draft.ts";
import { newJudge } from "./judge.ts";
import { JudgeFields } from "./JudgeFields.tsx";

/** Limits of the API. */
const MOST_JUDGES = 5;
const MOST_HOOKS = 5;

export function Actions({ draft, set }: { draft: Draft; set: (change: Partial<Draft>) => void }) {
  const may = useMay();
  const { judges, webhooks } = draft;
  const changeHook = (place: string, change: Partial<HookDraft>) =>
    set({ webhooks: webhooks.map((hook) => (hook.reactKey === place ? { ...hook, ...change } : hook)) });
  const scores = may("traces.annotate");
  return (
    <fieldset className={parts.several}>
      <legend>Actions</legend>
      <div className={parts.pair}>
        <TargetField kind="queue" value={draft.queue} onChange={(queue) => set({ queue })} />
        <TargetField kind="dataset" value={draft.dataset} onChange={(dataset) => set({ dataset })} />
      </div>
      <label className={parts.choice}>
        <input type="checkbox" checked={draft.extend} onChange={({ target }) => set({ extend: target.checked })} />
        <span>
          Keep the traces for longer <small>As long as the tier longlived: 400 days, where no other time is set.</small>
        </span>
      </label>
      <Input
        label="Functions that score"
        disabled={!scores}
        placeholder="answer-length"
        help={
          scores ? (
            <>
              Names of the project’s code, separated by commas: <a href="/docs/rules#code">How to add one</a>
            </>
          ) : (
            <NeedsPermission permission="traces.annotate" />
          )
        }
        value={draft.code}
        onChange={({ target }) => set({ code: target.value })}
      />
      {judges.map((judge, at) => (
        <JudgeFields
          key={judge.reactKey}
          title={`Judge ${at + 1}`}
          judge={judge}
          onChange={(change) =>
            set({ judges: judges.map((one) => (one.reactKey === judge.reactKey ? { ...one, ...change } : one)) })
          }
          onRemove={() => set({ judges: judges.filter(({ reactKey: place }) => place !== judge.reactKey) })}
        />
      ))}
      {webhooks.map(({ reactKey: place, url, headers }, at) => (
        <Box
          key={place}
          title={`Webhook ${at + 1}`}
          onRemove={() => set({ webhooks: webhooks.filter((hook) => hook.reactKey !== place) })}
        >
          <Input
            label="Address"
            type="url"
            placeholder="https://example.com/hook"
            help="It gets the run as JSON, signed with the secrets of the workspace."
            value={url}
            onChange={({ target }) => changeHook(place, { url: target.value })}
          />
          <TextArea
            label="Headers"
            code
            rows={Math.max(2, headers.split("\n").length)}
            help="“name: value”, one in a line. A value that is stored is shown as ********."
            value={headers}
            onChange={({ target }) => changeHook(place, { headers: target.value })}
          />
        </Box>
      ))}
      <div className={parts.adds}>
        <Button
          disabled={!scores || judges.length >= MOST_JUDGES}
          onClick={() => set({ judges: [...judges, newJudge()] })}
        >
          Add judge
        </Button>
        <Button disabled={webhooks.length >= MOST_HOOKS} onClick={() => set({ webhooks: [...webhooks, newHook()] })}>
          Add webhook
        </Button>
      </div>
    </fieldset>
  );
}

const TARGETS = {
  queue: { label: "Add to annotation queue", needs: "queues.write", path: "/console/queues/new", none: "No queue" },
  dataset: { label: "Add to dataset", needs: "datasets.write", path: "/console/datasets/new", none: "No dataset" },
} as const;

function TargetField({ kind, value, onChange }: { kind: TargetKind; value: string; onChange: (id: string) => void }) {
  const may = useMay();
  const { label, needs, path, none } = TARGETS[kind];
  const allowed = may(needs);
  const { data: targets = [] } = useTargets(kind, may(kind === "queue" ? "queues.read" : "datasets.read"));
  return (
    <Select
      label={label}
      value={value}
      disabled={!allowed}
      help={allowed ? <Link href={path}>Create a {kind}</Link> : <NeedsPermission permission={needs} />}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{none}</option>
      {value !== "" && !targets.some(({ id }) => id === value) && <option value={value}>{value}</option>}
      {targets.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Select>
  );
}

const NeedsPermission = ({ permission }: { permission: string }) => (
  <>
    You need the permission <code>{permission}</code>.
  </>
);
