/** The versions of a dataset: each change makes one. An older one is only read. */
import { useId, useState } from "react";
import { useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { countText } from "../../ui/format.ts";
import { exactTime } from "../../ui/time.ts";
import work from "../../resources/work.module.css";
import { nameVersion, useDiff, useVersions } from "./queries.ts";

/** Sets a parameter of the address; an empty one is left out. */
export function useSetParam(): (name: string, value: string) => void {
  const [, setParams] = useSearchParams();
  return (name, value) =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
}

const LATEST = "latest";

export function Versions({ dataset, version }: { dataset: string; version: string }) {
  const may = useMay();
  const set = useSetParam();
  const versions = useVersions(dataset);
  const diff = useDiff(dataset, version);
  const [naming, setNaming] = useState(false);
  const newest = versions.data?.[0]?.as_of;
  return (
    <>
      <select
        className={`${controls.field} ${work.select}`}
        aria-label="Version"
        value={version}
        onChange={(event) => set("version", event.target.value)}
      >
        <option value="">Latest version</option>
        {version !== "" && !versions.data?.some(({ as_of }) => as_of === version) && (
          <option value={version}>{version}</option>
        )}
        {versions.data?.slice(1).map(({ as_of, tags }) => (
          <option key={as_of} value={as_of}>
            {[exactTime(as_of), ...tags].join(" · ")}
          </option>
        ))}
      </select>
      {newest !== undefined && may("datasets.write") && <Button onClick={() => setNaming(true)}>Name version</Button>}
      {version !== "" && diff.data && (
        <span className={work.note} role="status">
          Since then {countText(diff.data.examples_added.length)} added, {countText(diff.data.examples_modified.length)}{" "}
          changed, {countText(diff.data.examples_removed.length)} removed
        </span>
      )}
      {naming && newest !== undefined && (
        <Naming dataset={dataset} version={version === "" ? newest : version} onClose={() => setNaming(false)} />
      )}
    </>
  );
}

function Naming({ dataset, version, onClose }: { dataset: string; version: string; onClose: () => void }) {
  const id = useId();
  const [tag, setTag] = useState("");
  const error = tag.trim() === LATEST ? "The latest version has this name always." : undefined;
  return (
    <ModalForm
      title="Name this version"
      text={`The version of ${exactTime(version)}. A name that another version has moves to this one.`}
      submit="Save name"
      needs="datasets.write"
      disabled={tag.trim() === "" || error !== undefined}
      onSubmit={() => nameVersion(dataset, version, tag.trim())}
      onClose={onClose}
    >
      <FieldInput
        id={id}
        field={{ name: "tag", label: "Name", kind: "text", help: "Such as prod." }}
        text={tag}
        {...(error !== undefined && { error })}
        onText={setTag}
      />
    </ModalForm>
  );
}
