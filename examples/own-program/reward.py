"""The number that the program returned. A reward could as well read the conversation: sample["messages"]."""


def grade(sample, item):
    return sample["environment_reward"]
