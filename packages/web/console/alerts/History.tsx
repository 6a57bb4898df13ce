/** The changes of an alert, and whether its channels were notified of each. */
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { firstLine, quantityText } from "../../ui/format.ts";
import { Section } from "../../resources/Fields.tsx";
import work from "../../resources/work.module.css";
import { type Alert, type Change, useHistory } from "./queries.ts";
import { metricText, type Metric, stateLook } from "./labels.ts";
import { ShowMore } from "../../resources/ListPage.tsx";

export function History({ alert }: { alert: Alert }) {
  const history = useHistory(alert);
  return (
    <Section title="History">
      <Loaded query={history} what="changes" rows={3}>
        {({ rows }) =>
          rows.length === 0 ? (
            <p className={work.none}>Its state has not changed yet. Changes of the last 90 days are listed here.</p>
          ) : (
            <>
              <Table
                label="History"
                columns={makeColumns(alert.metric, alert.channels.length > 0)}
                rows={rows}
                rowKey={({ time }) => time}
              />
              <ShowMore query={history} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

const DELIVERIES: Record<Change["delivery"], { state: string; word: string }> = {
  delivered: { state: "success", word: "delivered" },
  pending: { state: "pending", word: "under way" },
  failed: { state: "error", word: "failed" },
  cancelled: { state: "idle", word: "cancelled" },
};

const makeColumns = (metric: Metric, isTold: boolean): Column<Change>[] => [
  { id: "to", name: "State", width: 100, kept: true, cell: ({ to }) => <State {...stateLook(to)} /> },
  { id: "value", name: "Figure", width: 80, end: true, kept: true, cell: ({ value }) => metricText(metric, value) },
  {
    id: "delivery",
    name: "Channels",
    width: 110,
    kept: true,
    cell: ({ delivery }) => (isTold ? <State {...DELIVERIES[delivery]} /> : <span className={work.faint}>none</span>),
  },
  {
    id: "error",
    name: "Error",
    width: 120,
    grows: true,
    cell: ({ error, attempts }) =>
      error !== null && (
        <span title={error}>
          {firstLine(error)} <span className={work.faint}>{quantityText(attempts, "attempt")}</span>
        </span>
      ),
  },
  { id: "from", name: "Before", width: 80, cell: ({ from }) => from },
  { id: "time", name: "Time", width: 88, end: true, kept: true, cell: ({ time }) => <Time at={time} /> },
];
