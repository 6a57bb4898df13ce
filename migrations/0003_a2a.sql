CREATE TABLE `a2a_tasks` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`state` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `a2a_tasks_list` ON `a2a_tasks` (`workspace_id`,`assistant_id`,`updated_at`,`id`);