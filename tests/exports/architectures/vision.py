# SPDX-License-Identifier: Apache-2.0
"""Classifiers of torchvision, whole where they are small, else built of the same classes with fewer and narrower layers."""
import torch
import torch.nn.functional as F
import torchvision.models as tv
from torch import nn
from torchvision.models import convnext, efficientnet, maxvit, resnet

from .common import Architecture, noise, picture


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 5, padding=2), nn.Conv2d(8, 16, 5, padding=2)
        self.fc = nn.Linear(16 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return F.log_softmax(self.fc(torch.flatten(x, 1)), 1)


def whole(name, **options):
    return lambda: getattr(tv, name)(weights=None, num_classes=10, **options)


def headless(name, channels):
    """The features of an architecture whose classifier would be 200 MB of weights."""
    features = getattr(tv, name)(weights=None).features
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(channels, 10))


def residual(block, **options):
    return lambda: resnet.ResNet(block, [1, 1, 1, 1], num_classes=10, **options)


def small_convnext():
    widths = [16, 24, 32, 48]
    return convnext.ConvNeXt([convnext.CNBlockConfig(i, o, 1) for i, o in zip(widths, widths[1:] + [None])], num_classes=10)


def small_efficientnet_v2():
    settings = [efficientnet.FusedMBConvConfig(1, 3, 1, 16, 16, 1), efficientnet.FusedMBConvConfig(4, 3, 2, 16, 24, 2),
                efficientnet.MBConvConfig(4, 3, 2, 24, 40, 2), efficientnet.MBConvConfig(6, 3, 1, 40, 48, 1)]
    return efficientnet.EfficientNet(settings, dropout=0.2, num_classes=10, last_channel=96)


def small_maxvit():
    return maxvit.MaxVit(input_size=(56, 56), stem_channels=16, partition_size=7, block_channels=[16, 32], block_layers=[1, 1],
                         head_dim=8, stochastic_depth_prob=0.1, num_classes=10)


MODELS = {
    "mnist": Architecture(Mnist, picture(28, 1)),
    "squeezenet1_0": Architecture(whole("squeezenet1_0"), picture(65)),
    "squeezenet1_1": Architecture(whole("squeezenet1_1"), picture(65)),
    "alexnet": Architecture(lambda: headless("alexnet", 256), picture(67)),
    "vgg11": Architecture(lambda: headless("vgg11_bn", 512), picture(33)),
    "resnet18": Architecture(residual(resnet.BasicBlock), picture(65)),
    "resnet_bottleneck": Architecture(residual(resnet.Bottleneck), picture(65)),
    "resnext": Architecture(residual(resnet.Bottleneck, groups=32, width_per_group=4), picture(65)),
    "resnet_group_norm": Architecture(residual(resnet.BasicBlock, norm_layer=lambda c: nn.GroupNorm(8, c)), picture(65)),
    "densenet": Architecture(lambda: tv.DenseNet(12, (3, 3, 3), 24, num_classes=10), picture(65)),
    "inception_v3": Architecture(whole("inception_v3", init_weights=False), picture(95)),
    "googlenet": Architecture(whole("googlenet", init_weights=False), picture(65)),
    "mobilenet_v2": Architecture(whole("mobilenet_v2", width_mult=0.5), picture(65)),
    "mobilenet_v3_small": Architecture(whole("mobilenet_v3_small"), picture(65)),
    "mobilenet_v3_large": Architecture(whole("mobilenet_v3_large", width_mult=0.5), picture(65)),
    "efficientnet_b0": Architecture(whole("efficientnet_b0"), picture(65)),
    "efficientnet_v2": Architecture(small_efficientnet_v2, picture(65)),
    "shufflenet_v2": Architecture(whole("shufflenet_v2_x0_5"), picture(65)),
    "mnasnet": Architecture(whole("mnasnet0_5"), picture(65)),
    "regnet_x": Architecture(whole("regnet_x_400mf"), picture(65)),
    "regnet_y": Architecture(whole("regnet_y_400mf"), picture(65)),
    "convnext": Architecture(small_convnext, picture(65)),
    "vit": Architecture(lambda: tv.VisionTransformer(32, 8, 2, 4, 48, 96, num_classes=10), noise(3, 32, 32)),
    "swin": Architecture(lambda: tv.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10), noise(3, 36, 36)),
    "maxvit": Architecture(small_maxvit, noise(3, 56, 56), first_opset=12),
}
