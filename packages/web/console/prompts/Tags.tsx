/** The tags of a prompt, moved to the commit that is shown. */
import { type FormEvent, useState } from "react";
import { useAction } from "../../resources/action.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { deleteTag, moveTag, type Tag } from "./queries.ts";

export function Tags({ name, hash, tags }: { name: string; hash: string; tags: Tag[] }) {
  const [fresh, setFresh] = useState("");
  const { busy, trouble, run } = useAction("prompts.write");
  const add = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await moveTag(name, fresh.trim(), hash);
      setFresh("");
    });
  };
  return (
    <>
      <form className={work.acts} onSubmit={add} aria-label="Tags">
        {tags.map(({ tag_name, commit_hash }) =>
          commit_hash === hash ? (
            <Button key={tag_name} disabled={busy} onClick={() => void run(() => deleteTag(name, tag_name))}>
              Remove {tag_name}
            </Button>
          ) : (
            <Button key={tag_name} disabled={busy} onClick={() => void run(() => moveTag(name, tag_name, hash))}>
              Move {tag_name} here
            </Button>
          ),
        )}
        <input
          className={`${controls.field} ${work.select}`}
          aria-label="New tag"
          placeholder="New tag, such as prod"
          value={fresh}
          onChange={(event) => setFresh(event.target.value)}
        />
        <Button type="submit" disabled={busy || fresh.trim() === ""}>
          Add tag
        </Button>
      </form>
      {trouble !== "" && (
        <p className={work.trouble} role="alert">
          {trouble}
        </p>
      )}
    </>
  );
}
