//! Who may do what: rules from settings files, the analysis of shell commands, and the decision. Pure but for loading, saving and resolving symbolic links.
