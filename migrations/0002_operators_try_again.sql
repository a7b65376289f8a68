CREATE TABLE `settlings` (
	`id` text NOT NULL,
	`home` text NOT NULL,
	`at` integer NOT NULL,
	`site_id_floor` integer,
	PRIMARY KEY(`id`, `home`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `agents` ADD `revision` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `app_routes` ADD `claim` text;--> statement-breakpoint
ALTER TABLE `sites` ADD `event_seq_floor` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `revision` integer DEFAULT 0 NOT NULL;