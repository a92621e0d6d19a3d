//! What slug tells the model besides the conversation: instruction files and context providers.
