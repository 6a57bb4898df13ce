CREATE TABLE `roles` (
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`permissions` text NOT NULL,
	`modified_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `name`),
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
ALTER TABLE `api_keys` ADD `role` text;