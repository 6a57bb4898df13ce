/** The channels of an alert: webhooks, Slack, and e-mail by a provider. */
import { Button } from "../../ui/Button.tsx";
import { Box } from "../../resources/Box.tsx";
import { Input, Select, TextArea } from "../../resources/Form.tsx";
import parts from "../../resources/parts.module.css";
import { type ChannelDraft, newChannel } from "./draft.ts";
import type { Channel, Provider } from "./queries.ts";
import { CHANNELS } from "./labels.ts";

/** A limit of the API. */
const MOST = 10;
const PROVIDERS: Record<Provider, string> = { resend: "Resend", postmark: "Postmark", sendgrid: "SendGrid" };

export function Channels({
  channels,
  onChange,
}: {
  channels: ChannelDraft[];
  onChange: (channels: ChannelDraft[]) => void;
}) {
  return (
    <fieldset className={parts.several}>
      <legend>Channels</legend>
      {channels.length === 0 && (
        <p className={parts.note}>Without a channel, the alert shows its state here and sends no notification.</p>
      )}
      {channels.map((channel, at) => (
        <Box
          key={channel.place}
          title={`Channel ${at + 1}`}
          onRemove={() => onChange(channels.filter(({ place }) => place !== channel.place))}
        >
          <ChannelFields
            channel={channel}
            onChange={(change) =>
              onChange(channels.map((one) => (one.place === channel.place ? { ...one, ...change } : one)))
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
