ALTER TABLE `oauth_tokens` ADD `parent` text;--> statement-breakpoint
CREATE INDEX `oauth_tokens_parent` ON `oauth_tokens` (`parent`);