/** The form of an alert: a new one, or one that is there. */
import { useState } from "react";
import { useAction } from "../../api/me.ts";
import { More, Form, Input, Select, Box, TextArea } from "../../resources/Form.tsx";
import { FilterInput } from "../../resources/FilterInput.tsx";
import parts from "../../resources/parts.module.css";
import { ProjectSelect } from "../../resources/ProjectSelect.tsx";
import work from "../../resources/work.module.css";
import { type Draft, type ChannelDraft, newChannel } from "./draft.ts";
import { METRICS, type Metric, type Operator, OPERATORS, windowText, CHANNELS } from "./labels.ts";
import { Button } from "../../ui/Button.tsx";
import type { Alert, Channel, Provider } from "./queries.ts";
import type { FormProps } from "../../resources/NewPage.tsx";

const WINDOWS = [1, 5, 10, 15, 30, 60, 180, 360, 720, 1_440];

const UNITS: Record<Metric, string> = {
  error_rate: "%",
  latency: "seconds",
  cost: "US dollars",
  tokens: "tokens",
  feedback_score: "score",
  run_count: "runs",
};

export function AlertForm({ row, start, onSave, onCancel }: FormProps<Alert, Draft>) {
  const action = useAction("traces.write");
  const [draft, setDraft] = useState(start);
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }));
  const text = (name: keyof Draft & ("name" | "percentile" | "feedbackKey" | "threshold" | "window" | Counted)) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  const windows = WINDOWS.includes(Number(draft.window)) ? WINDOWS : [Number(draft.window), ...WINDOWS];
  return (
    <div className={work.form}>
      <Form
        action={action}
        submit={row ? "Save alert" : "Create alert"}
        onSubmit={() => onSave(draft)}
        onCancel={onCancel}
      >
        <Input label="Name" maxLength={200} {...text("name")} />
        <ProjectSelect value={draft.project} onChange={(project) => set({ project })} />
        <FilterInput
          label="Filter"
          help="Which runs count. eq(is_root, true): whole traces. Empty: every run. Tokens and costs count once in either case."
          value={draft.filter}
          onChange={(filter) => set({ filter })}
        />
        <div className={parts.pair}>
          <Select
            label="Figure"
            value={draft.metric}
            onChange={({ target }) => set({ metric: target.value as Metric })}
          >
            {Object.entries(METRICS).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
          {draft.metric === "latency" && (
            <Input
              label="Percentile, %"
              type="number"
              min={1}
              max={99.9}
              step="any"
              help="The latency that this share of the runs does not exceed."
              {...text("percentile")}
            />
          )}
          {draft.metric === "feedback_score" && (
            <Input label="Key of the feedback" maxLength={180} placeholder="user_score" {...text("feedbackKey")} />
          )}
        </div>
        <div className={parts.pair}>
          <Select
            label="Fires when it is"
            value={draft.operator}
            onChange={({ target }) => set({ operator: target.value as Operator })}
          >
            {Object.entries(OPERATORS).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
          <Input label={`Threshold, ${UNITS[draft.metric]}`} type="number" step="any" {...text("threshold")} />
        </div>
        <div className={parts.pair}>
          <Select label="Window" help="Runs that began in this time before the evaluation." {...text("window")}>
            {windows.map((minutes) => (
              <option key={minutes} value={minutes}>
                {windowText(minutes)}
              </option>
            ))}
          </Select>
          <Input
            label="Least number of runs"
            type="number"
            min={0}
            help="With fewer runs in the window there is no figure, and the state does not change."
            {...text("minRuns")}
          />
        </div>
        <More title="Evaluations in a row" open={draft.fireAfter !== "2" || draft.resolveAfter !== "3"}>
          <div className={parts.pair}>
            <Input
              label="Beyond the threshold, to fire"
              type="number"
              min={1}
              max={60}
              help="There is one evaluation a minute."
              {...text("fireAfter")}
            />
            <Input label="Within the threshold, to resolve" type="number" min={1} max={60} {...text("resolveAfter")} />
          </div>
        </More>
        <Channels channels={draft.channels} onChange={(channels) => set({ channels })} />
      </Form>
    </div>
  );
}

type Counted = "minRuns" | "fireAfter" | "resolveAfter";

/** A limit of the API. */
const MOST = 10;
const PROVIDERS: Record<Provider, string> = { resend: "Resend", postmark: "Postmark", sendgrid: "SendGrid" };

/** The channels of an alert: webhooks, Slack, and e-mail by a provider. */
function Channels({ channels, onChange }: { channels: ChannelDraft[]; onChange: (channels: ChannelDraft[]) => void }) {
  return (
    <fieldset className={parts.several}>
      <legend>Channels</legend>
      {channels.length === 0 && (
        <p className={parts.note}>Without a channel, the alert shows its state here and sends no notification.</p>
      )}
      {channels.map((channel, at) => (
        <Box
          key={channel.reactKey}
          title={`Channel ${at + 1}`}
          onRemove={() => onChange(channels.filter(({ reactKey: place }) => place !== channel.reactKey))}
        >
          <ChannelFields
            channel={channel}
            onChange={(change) =>
              onChange(channels.map((one) => (one.reactKey === channel.reactKey ? { ...one, ...change } : one)))
            }
          />
        </Box>
      ))}
      <div className={parts.adds}>
        <Button disabled={channels.length >= MOST} onClick={() => onChange([...channels, newChannel()])}>
          Add channel
        </Button>
      </div>
    </fieldset>
  );
}

function ChannelFields({
  channel,
  onChange,
}: {
  channel: ChannelDraft;
  onChange: (change: Partial<ChannelDraft>) => void;
}) {
  const { type, url, headers, provider, apiKey, from, to } = channel;
  return (
    <>
      <Select label="Kind" value={type} onChange={({ target }) => onChange({ type: target.value as Channel["type"] })}>
        {Object.entries(CHANNELS).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </Select>
      {type !== "email" && (
        <Input
          label="Address"
          type="url"
          placeholder={type === "slack" ? "https://hooks.slack.com/services/…" : "https://example.com/hook"}
          help={
            type === "slack"
              ? "An incoming webhook of Slack, or one that takes the same JSON."
              : "It gets JSON, signed with the secrets of the workspace."
          }
          value={url}
          onChange={({ target }) => onChange({ url: target.value })}
        />
      )}
      {type === "webhook" && (
        <TextArea
          label="Headers"
          code
          rows={Math.max(2, headers.split("\n").length)}
          help="“name: value”, one in a line. A value that is stored is shown as ********."
          value={headers}
          onChange={({ target }) => onChange({ headers: target.value })}
        />
      )}
      {type === "email" && (
        <>
          <div className={parts.pair}>
            <Select
              label="Provider"
              value={provider}
              onChange={({ target }) => onChange({ provider: target.value as Provider })}
            >
              {Object.entries(PROVIDERS).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </Select>
            <Input
              label="API key of the provider"
              type="password"
              autoComplete="new-password"
              help="Stored encrypted, and not shown again."
              value={apiKey}
              onChange={({ target }) => onChange({ apiKey: target.value })}
            />
          </div>
          <Input
            label="From"
            type="email"
            placeholder="alerts@example.com"
            value={from}
            onChange={({ target }) => onChange({ from: target.value })}
          />
          <Input
            label="To"
            placeholder="ada@example.com, grace@example.com"
            help="Separated by commas."
            value={to}
            onChange={({ target }) => onChange({ to: target.value })}
          />
        </>
      )}
    </>
  );
}
