/** The channels of an alert, and what a test of each has shown. */
import { useState } from "react";
import { useMay, useAction } from "../../api/me.ts";
import { State } from "../../resources/State.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Button } from "../../ui/Button.tsx";
import { Section } from "../../resources/Fields.tsx";
import work from "../../resources/work.module.css";
import { type Alert, type Channel, testAlert, type Tested } from "./queries.ts";
import { CHANNELS } from "./labels.ts";
import { Trouble } from "../../resources/Trouble.tsx";

interface Row {
  number: number;
  channel: Channel;
  tested: Tested | undefined;
}

const receiverText = (channel: Channel) =>
  channel.type === "email" ? `${channel.to.join(", ")} (${channel.provider})` : channel.url;

export function ChannelList({ alert }: { alert: Alert }) {
  const may = useMay();
  const test = useAction("traces.write");
  const [tested, setTested] = useState<Tested[]>([]);
  const rows = alert.channels.map((channel, number): Row => ({ number, channel, tested: tested[number] }));
  const failed = rows.filter((row) => row.tested?.ok === false);
  return (
    <Section
      title="Channels"
      act={
        may("traces.write") &&
        rows.length > 0 && (
          <Button disabled={test.busy} onClick={() => void test.run(async () => setTested(await testAlert(alert.id)))}>
            {test.busy ? "Testing…" : "Test channels"}
          </Button>
        )
      }
    >
      <Trouble text={test.trouble} />
      {rows.length === 0 ? (
        <p className={work.none}>It has no channel, so it sends no notification.</p>
      ) : (
        <Table label="Channels" columns={COLUMNS} rows={rows} rowKey={({ number }) => String(number)} />
      )}
      {tested.length > 0 && (
        <div role="status">
          {failed.length === 0 ? (
            <p className={work.none}>Each channel answered.</p>
          ) : (
            failed.map(({ number, tested }) => (
              <p key={number} className={work.trouble}>
                Channel {number + 1} failed: {tested?.error}
              </p>
            ))
          )}
        </div>
      )}
    </Section>
  );
}

const COLUMNS: Column<Row>[] = [
  { id: "number", name: "", width: 32, kept: true, cell: ({ number }) => number + 1 },
  { id: "kind", name: "Kind", width: 80, kept: true, cell: ({ channel }) => CHANNELS[channel.type] },
  {
    id: "receiver",
    name: "Receiver",
    width: 110,
    kept: true,
    grows: true,
    cell: ({ channel }) => <span title={receiverText(channel)}>{receiverText(channel)}</span>,
  },
  {
    id: "tested",
    name: "Test",
    width: 96,
    kept: true,
    cell: ({ tested }) =>
      tested && (
        <State {...(tested.ok ? { state: "success", word: "answered" } : { state: "error", word: "failed" })} />
      ),
  },
];
