"""Readers of chats and documents, and the verb that imports what they read.

    reader.py            the one signature, and what a caller may say of a file
    openai_messages.py   JSON lines of OpenAI messages          chatgpt_export.py   the conversations.json of a ChatGPT export
    markdown.py          Markdown                               text.py             plain text
    records.py           JSON in bounded memory                 documents.py        what Markdown and text share
    stamps.py            times as files write them              recognise.py        which reader a file wants
    driver.py            import_files: the verb

A further format is one module with `recognises`, `read` and READER, and its line in `recognise.READERS`.
"""
