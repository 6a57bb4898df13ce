-- Full-text search over the Store's items. External content: the text is kept once, in store_items.
CREATE VIRTUAL TABLE `store_text` USING fts5(
	`workspace_id`, `text`,
	content='store_items', content_rowid='id',
	tokenize='porter unicode61 remove_diacritics 2'
);
--> statement-breakpoint
CREATE TRIGGER `store_text_insert` AFTER INSERT ON `store_items` BEGIN
	INSERT INTO `store_text` (rowid, `workspace_id`, `text`) VALUES (new.id, new.workspace_id, new.text);
END;
--> statement-breakpoint
CREATE TRIGGER `store_text_delete` AFTER DELETE ON `store_items` BEGIN
	INSERT INTO `store_text` (`store_text`, rowid, `workspace_id`, `text`) VALUES ('delete', old.id, old.workspace_id, old.text);
END;
--> statement-breakpoint
CREATE TRIGGER `store_text_update` AFTER UPDATE OF `workspace_id`, `text` ON `store_items` BEGIN
	INSERT INTO `store_text` (`store_text`, rowid, `workspace_id`, `text`) VALUES ('delete', old.id, old.workspace_id, old.text);
	INSERT INTO `store_text` (rowid, `workspace_id`, `text`) VALUES (new.id, new.workspace_id, new.text);
END;
