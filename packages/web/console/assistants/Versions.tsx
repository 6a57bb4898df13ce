/** The versions of an assistant, what each changed, and the way back to one. */
import { useState } from "react";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { Changes } from "../../resources/changes/Changes.tsx";
import { Loaded } from "../../resources/states.tsx";
import { State } from "../../resources/State.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import work from "../../resources/work.module.css";
import { ownConfig } from "./draft.ts";
import css from "./assistants.module.css";
import { activateVersion, type AssistantRow, useVersions, type Version } from "./queries.ts";
import { ShowMore } from "../../resources/ListPage.tsx";
import { Trouble } from "../../resources/Trouble.tsx";

export function Versions({ assistant }: { assistant: AssistantRow }) {
  const versions = useVersions(assistant.assistant_id);
  const [chosen, setChosen] = useState<number>();
  return (
    <Loaded query={versions} what="versions" rows={4}>
      {({ rows }) => {
        const shown = rows.find(({ version }) => version === (chosen ?? assistant.version)) ?? rows[0];
        return (
          <div className={css.versions}>
            <Table
              label="Versions"
              columns={buildColumns(assistant.version, setChosen)}
              rows={rows}
              rowKey={({ version }) => String(version)}
              onOpen={({ version }) => setChosen(version)}
              openKey={shown && String(shown.version)}
            />
            <ShowMore query={versions} />
            {shown && <OneVersion key={shown.version} shown={shown} rows={rows} active={assistant.version} />}
          </div>
        );
      }}
    </Loaded>
  );
}

function buildColumns(active: number, onChoose: (version: number) => void): Column<Version>[] {
  return [
    {
      id: "version",
      name: "Version",
      width: 72,
      kept: true,
      cell: ({ version }) => (
        <button type="button" className={controls.link} onClick={() => onChoose(version)}>
          {version}
        </button>
      ),
    },
    { id: "name", name: "Name", width: 120, kept: true, grows: true, cell: ({ name }) => name },
    {
      id: "active",
      name: "",
      width: 80,
      kept: true,
      cell: ({ version }) => version === active && <State state="success" word="active" />,
    },
    { id: "made", name: "Created", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
  ];
}

function OneVersion({ shown, rows, active }: { shown: Version; rows: Version[]; active: number }) {
  const [against, setAgainst] = useState(shown.version - 1);
  const activating = useAction("assistants.write");
  const other = rows.find(({ version }) => version === against);
  const others = rows.filter(({ version }) => version !== shown.version);
  const activate = () => activating.run(() => activateVersion(shown.assistant_id, shown.version));
  return (
    <section className={css.versions} aria-label={`Version ${shown.version}`}>
      <div className={work.head}>
        <h2>Version {shown.version}</h2>
        {others.length > 0 && (
          <select
            className={`${controls.field} ${work.select}`}
            aria-label="Compare with"
            value={other?.version ?? ""}
            onChange={(event) => setAgainst(Number(event.target.value))}
          >
            {!other && <option value="">Compare with…</option>}
            {others.map(({ version }) => (
              <option key={version} value={version}>
                Compare with version {version}
              </option>
            ))}
          </select>
        )}
        {shown.version !== active && activating.refusal === undefined && (
          <Button {...activating.button} onClick={() => void activate()}>
            Make active
          </Button>
        )}
      </div>
      <Trouble text={activating.trouble} />
      {other ? (
        <Changes
          title={`Changes from version ${other.version}`}
          same="Both versions are the same."
          before={pickConfiguration(other)}
          now={pickConfiguration(shown)}
        />
      ) : (
        <p className={work.none}>
          {others.length === 0
            ? "This is the only version. Saving the configuration makes the next one."
            : "Choose a version to compare with."}
        </p>
      )}
    </section>
  );
}

/** The members that a version fixes. */
function pickConfiguration({ graph_id, name, description, config, context, metadata }: Version) {
  const own = ownConfig(config, context);
  return {
    graph_id,
    name,
    description: description ?? "",
    config: own,
    context: context ?? {},
    metadata: metadata ?? {},
  };
}
